// Kernels with no run are a line of the table only. A run's section is folded; the table links to it.
#include "cli/report/loop_page.h"

#include <algorithm>

#include "cli/duration.h"
#include "cli/report/page_parts.h"
#include "core/base/words.h"
#include "core/model/kernel_key.h"

namespace kernelift::cli {
namespace {

std::string gain_text(double value) { return value > 0 ? number(value, 3) + "×" : "–"; }

std::string row_of(const LoopRow& row, size_t index, bool has_section) {
  const std::string name = escape(shown_name(row.kernel)) + (row.file.empty() ? "" : " of " + escape(row.file));
  return "<tr><td class=\"text\">" +
         (has_section ? "<a href=\"#run" + std::to_string(index) + "\">" + name + "</a>" : name) +
         "<div class=\"dim\">" + escape(row.order) + "</div></td><td class=\"n\">" + number(100 * row.share, 1) +
         " %</td><td class=\"n\">" + gain_text(row.kernel_gain) + "</td><td class=\"n\">" + gain_text(row.predicted) +
         "</td><td class=\"n\">" + gain_text(row.measured) + "</td><td class=\"text\"><b>" + escape(row.outcome) +
         (row.together > 0 ? " (patch of several)" : "") + "</b>" +
         (row.why.empty()
              ? ""
              : "<div class=\"dim\">" + (row.candidate > 0 ? "#" + std::to_string(row.candidate) + ": " : "") +
                    escape(row.why) + "</div>") +
         "</td></tr>";
}

/// What the kernels that were not improved take of the time of the application as it is now. After a patch that was
/// kept it was recorded anew: shares are of a run that all patches above had made shorter.
double share_left(const LoopReport& report) {
  double left = 0, gain = 1;
  for (auto& row : report.rows)
    if (!row.kept()) left += row.share / gain;
    else if (row.together == 0 && row.measured > 0) gain *= row.measured;
  return std::min(left * whole_gain(report.rows), 1.0);
}

}  // namespace

std::string loop_page(const LoopReport& report, const std::map<std::string, ReportData>& runs) {
  const auto kept = std::ranges::count_if(report.rows, &LoopRow::kept);
  const auto tuned = std::ranges::count_if(report.rows, [](auto& row) { return !row.run.empty(); });
  double seconds = 0;
  std::string steps;
  for (auto& [verb, spent] : report.seconds)
    seconds += spent, steps += (steps.empty() ? "" : ", ") + verb + " " + duration_words(spent);
  std::string html = "<h1>" + escape(report.run) + "</h1><div class=\"dim\">optimized on " + escape(report.device) +
                     " · " + escape(report.at) + "</div><div class=\"cards\">" +
                     card(kept > 0 ? gain_text(whole_gain(report.rows)) : "nothing kept",
                          "the whole application, measured" +
                              std::string(report.device == "cpu" ? " on the CPU device, not on a GPU" : "")) +
                     card(std::to_string(kept),
                          "of " + counted(static_cast<size_t>(tuned), "tuned kernel") + " with a patch that was kept") +
                     card(number(100 * share_left(report), 1) + " %", "of the time in kernels that stay as they were") +
                     card(duration_words(seconds), "of time") + "</div>";
  html += "<p>" + escape(report.measure_text) + " Time: " + escape(steps) + ".</p>";
  if (report.interrupted) html += "<p><b>It was interrupted.</b></p>";
  if (!report.way_back.empty()) html += "<p>Back to the original: <code>" + escape(report.way_back) + "</code></p>";
  html +=
      "<h2>Kernels, in the order in which they were tuned</h2><div class=\"scroll\"><table><tr><th>kernel</th><th "
      "class=\"n\">share</th><th class=\"n\">kernel gain</th><th class=\"n\">predicted</th><th "
      "class=\"n\">measured</th><th>outcome</th></tr>";
  std::string sections;
  for (size_t i = 0; i < report.rows.size(); ++i) {
    const LoopRow& row = report.rows[i];
    auto run = runs.find(row.run);
    html += row_of(row, i, run != runs.end());
    if (run == runs.end()) continue;
    sections += "<details id=\"run" + std::to_string(i) + "\"><summary>" + escape(run->second.kernel) + "</summary>" +
                report_body(run->second) + "</details>";
  }
  html += "</table></div>";
  if (!sections.empty()) html += "<h2>Runs</h2>" + sections;
  return html_page("optimize " + report.run, html);
}

}  // namespace kernelift::cli
