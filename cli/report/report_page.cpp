// Builds the report's HTML by plain concatenation; every text from outside is escaped. The chart is inline SVG: one dot
// per verified candidate, a step line for the best so far, failures as ticks along the bottom.
#include "cli/report/report_page.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "cli/duration.h"
#include "cli/report/lineage.h"
#include "cli/report/page_parts.h"
#include "core/base/shown/outside_text.h"

namespace kernelift::cli {
namespace {

std::string microseconds(double us) {
  if (us <= 0) return "–";
  return us >= 1e6 ? number(us / 1e6, 3) + " s" : us >= 1e3 ? number(us / 1e3, 2) + " ms" : number(us, 1) + " µs";
}

const char* tier_class(const std::string& tier) {
  for (auto known : {"source", "params", "compiler"})
    if (tier == known) return known;
  return "baseline";
}

std::string chart(const ReportData& data) {
  constexpr double kWidth = 1000, kHeight = 300, kLeft = 52, kRight = 16, kTop = 16, kBottom = 40;
  double highest = 1.2, lowest = 1;
  for (auto& candidate : data.candidates)
    if (candidate.speedup > 0)
      highest = std::max(highest, candidate.speedup), lowest = std::min(lowest, candidate.speedup);
  // Logarithmic, so that 2x faster and 2x slower are equally far from 1. Candidates below 0.25x are drawn on the lower
  // edge.
  lowest = std::max(lowest, 0.25);
  double low = std::log2(lowest) - 0.1, high = std::log2(highest) + 0.1;
  double count = std::max<double>(1, double(data.candidates.size()));
  auto x = [&](double n) { return kLeft + (n - 0.5) / count * (kWidth - kLeft - kRight); };
  auto y = [&](double speedup) {
    double at = (std::log2(std::max(speedup, lowest)) - low) / (high - low);
    return kHeight - kBottom - at * (kHeight - kTop - kBottom);
  };
  std::string svg =
      "<div class=\"scroll\"><svg viewBox=\"0 0 1000 300\" role=\"img\" aria-label=\"speedup of each candidate\">";
  for (double tick : {0.25, 0.5, 0.8, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0, 64.0}) {
    bool fine = tick == 0.8 || tick == 1.1 || tick == 1.25;
    if (std::log2(tick) < low || std::log2(tick) > high || (fine && high - low > 2)) continue;
    std::string at = number(y(tick), 1);
    svg += "<line x1=\"52\" x2=\"984\" y1=\"" + at + "\" y2=\"" + at + "\" stroke=\"var(--line)\"" +
           (tick == 1 ? " stroke-width=\"2\"" : "") + "/><text x=\"44\" y=\"" + number(y(tick) + 4, 1) +
           "\" text-anchor=\"end\">" + number(tick, tick < 2 && tick != 1 ? 2 : 0) + "×</text>";
  }
  double best = 1;
  std::string path = "M52 " + number(y(1), 1);
  for (auto& candidate : data.candidates) {
    std::string cx = number(x(candidate.number), 1);
    std::string title = "<title>#" + std::to_string(candidate.number) + " " + escape(candidate.note) + "\n" +
                        escape(candidate.verdict) + "</title>";
    if (candidate.outcome != "ok") {
      svg += "<line class=\"bad\" x1=\"" + cx + "\" x2=\"" + cx + "\" y1=\"256\" y2=\"262\" stroke-width=\"1.5\">" +
             title + "</line>";
      continue;
    }
    if (candidate.speedup > best) {
      path += " H" + cx + " V" + number(y(candidate.speedup), 1);
      best = candidate.speedup;
    }
    bool shown = data.shown() && data.shown()->number == candidate.number;
    svg += std::string("<circle class=\"") + tier_class(candidate.tier) + "\" cx=\"" + cx + "\" cy=\"" +
           number(y(candidate.speedup), 1) +
           (shown ? "\" r=\"5\" stroke=\"var(--ink)\">" : "\" r=\"3.2\" fill-opacity=\".75\">") + title + "</circle>";
  }
  path += " H984";
  svg += "<path d=\"" + path + "\" fill=\"none\" stroke=\"var(--ink)\" stroke-width=\"1.3\" stroke-opacity=\".6\"/>";
  svg += "<text x=\"52\" y=\"288\">candidate 1</text><text x=\"984\" y=\"288\" text-anchor=\"end\">" +
         std::to_string(data.candidates.size()) + "</text></svg></div>";
  svg +=
      "<p class=\"dim\"><span class=\"key source\">source</span> · <span class=\"key params\">parameters</span> · "
      "<span class=\"key compiler\">compiler</span> "
      "· <span class=\"key baseline\">baseline</span> · <span class=\"key bad\">| failed</span> · line: best so far" +
      std::string(data.shown() ? " · ring: #" + std::to_string(data.shown()->number) : "") +
      ". Hover over a dot for the candidate's verdict.</p>";
  return svg;
}

std::string diff_html(const std::string& diff) {
  std::string html = "<pre><code>";
  for (size_t begin = 0; begin < diff.size();) {
    size_t end = std::min(diff.find('\n', begin), diff.size());
    std::string line = diff.substr(begin, end - begin);
    if (line.ends_with('\r')) line.pop_back();
    bool head = line.starts_with("@") || line.starts_with("--- ") || line.starts_with("+++ ");
    const char* kind = head ? "at" : line.starts_with("+") ? "add" : line.starts_with("-") ? "del" : nullptr;
    html += kind ? std::string("<span class=\"") + kind + "\">" + escape(line) + "</span>" : escape(line) + "\n";
    begin = end + 1;
  }
  return html + "</code></pre>";
}

/// One row per proposer: candidates tried, candidates verified right, best speedup.
std::string proposer_table(const ReportData& data) {
  struct Row {
    int tried = 0, ok = 0;
    double best = 0;
  };
  std::map<std::pair<std::string, std::string>, Row> rows;
  for (auto& candidate : data.candidates) {
    if (candidate.tier == "baseline") continue;
    Row& row = rows[{candidate.tier, candidate.proposer}];
    ++row.tried;
    row.ok += candidate.outcome == "ok";
    row.best = std::max(row.best, candidate.speedup);
  }
  std::string html =
      "<div class=\"scroll\"><table><tr><th>tier</th><th>proposer</th><th class=\"n\">tried</th><th "
      "class=\"n\">right</th><th class=\"n\">best</th></tr>";
  for (auto& [who, row] : rows)
    html += std::string("<tr><td class=\"key ") + tier_class(who.first) + "\">" + escape(who.first) + "</td><td>" +
            escape(who.second) + "</td><td class=\"n\">" + std::to_string(row.tried) + "</td><td class=\"n\">" +
            std::to_string(row.ok) + "</td><td class=\"n\">" + (row.best > 0 ? number(row.best, 3) + "×" : "–") +
            "</td></tr>";
  return html + "</table></div>";
}

std::string hypothesis_table(const ReportData& data) {
  std::string html =
      "<div class=\"scroll\"><table><tr><th class=\"n\">hypothesis</th><th>idea</th><th>predicted</th><th>measured</th>"
      "<th>finding</th><th>cost</th></tr>";
  for (auto& one : data.hypotheses)
    html += "<tr><td class=\"n\">" + std::to_string(one.number) + "</td><td class=\"text\">" + escape(one.change) +
            (one.candidate ? " (#" + std::to_string(one.candidate) + ")" : "") + "</td><td class=\"ids\">" +
            escape(one.predicted) + "</td><td class=\"ids\">" + escape(one.measured.empty() ? "–" : one.measured) +
            "</td><td class=\"text\"><b>" + escape(one.conclusion) + "</b>: " + escape(one.why) +
            "</td><td class=\"ids\">" + escape(one.cost) + "</td></tr>";
  return html + "</table></div>";
}

std::string failure_table(const ReportData& data) {
  std::map<std::string, std::pair<int, std::string>> kinds;
  for (auto& candidate : data.candidates)
    if (candidate.outcome != "ok") {
      auto& [count, example] = kinds[candidate.outcome];
      if (count++ == 0) example = candidate.verdict;
    }
  if (kinds.empty()) return "<p class=\"dim\">None failed.</p>";
  std::string html =
      "<div class=\"scroll\"><table><tr><th>outcome</th><th class=\"n\">count</th><th>first example</th></tr>";
  for (auto& [outcome, entry] : kinds)
    html += "<tr><td class=\"key bad\">" + escape(outcome) + "</td><td class=\"n\">" + std::to_string(entry.first) +
            "</td><td class=\"text\">" + escape(shown_line(entry.second, 300)) + "</td></tr>";
  return html + "</table></div>";
}

/// Launches that differ only in their names share one row.
std::string instance_table(const ReportData& data) {
  struct Row {
    std::string ids, launch, figures;
    double weight = 0;
  };
  std::vector<Row> rows;
  for (auto& instance : data.instances) {
    Row row{escape(instance.id),
            escape(instance.geometry) + "</td><td>" + (instance.held_out ? "held out" : "tuned on"),
            microseconds(instance.application_us) + "</td><td class=\"n\">" + microseconds(instance.baseline_us) +
                "</td><td class=\"n\">" + microseconds(instance.best_us) + "</td><td class=\"n\">" +
                (instance.best_us > 0 && instance.baseline_us > 0
                     ? number(instance.baseline_us / instance.best_us, 3) + "×"
                     : "<span class=\"dim\">" + escape(instance.untimed) + "</span>"),
            instance.weight};
    auto same = std::find_if(rows.begin(), rows.end(),
                             [&](auto& one) { return one.launch == row.launch && one.figures == row.figures; });
    if (same == rows.end()) rows.push_back(row);
    else same->ids += ", " + row.ids, same->weight += row.weight;
  }
  std::string html =
      "<div class=\"scroll\"><table><tr><th>instance</th><th>launch</th><th>role</th><th class=\"n\">weight</th><th "
      "class=\"n\">in the application</th>"
      "<th class=\"n\">original</th><th class=\"n\">" +
      (data.shown() ? "#" + std::to_string(data.shown()->number) : std::string("best")) +
      "</th><th class=\"n\">gain</th></tr>";
  for (auto& row : rows)
    html += "<tr><td class=\"ids\">" + row.ids + "</td><td>" + row.launch + "</td><td class=\"n\">" +
            number(row.weight, 3) + "</td><td class=\"n\">" + row.figures + "</td></tr>";
  return html +
         "</table></div><p class=\"dim\">Medians of original and candidate, timed in alternation. “as …”: not timed "
         "itself, because that launch has the same geometry and takes about as long; “verified only”: its results were "
         "compared, but it was not timed.</p>";
}

std::string named(const ReportWinner& winner) { return "#" + std::to_string(winner.number); }

/// "#7 unroll by 4 · compiler recipe: O1"
std::string described(const ReportWinner& winner) {
  return named(winner) + " " + escape(winner.note) +
         (winner.recipe.empty() ? "" : " · compiler recipe: <code>" + escape(winner.recipe) + "</code>");
}

std::string gain_card(const ReportData& data) {
  if (auto* winner = data.shown(); winner && winner->speedup > 0)
    return card(number(winner->speedup, 2) + "×",
                named(*winner) + " in its MEP, " +
                    (winner->confirmed ? "confirmed in a fresh process" : "not confirmed yet") + ", at least " +
                    number(winner->low, 2) + "×");
  if (data.without_gain == "not judged")
    return card(data.without_gain, "the original does not repeat its results, so there is nothing to judge by");
  bool ended = data.without_gain == "no gain", tried = data.without_gain != "nothing tried";
  return card(data.without_gain, ended   ? "no candidate was faster than the original beyond noise"
                                 : tried ? "the search was cut short before it found a gain"
                                         : "only the original was measured");
}

std::string application_card(const ReportApplied& applied) {
  if (applied.kept())
    return card(applied.measured > 0 ? number(applied.measured, 2) + "×" : "kept",
                "the whole application, when the patch was kept");
  return card("nothing kept",
              applied.outcome +
                  (applied.measured > 0 ? ": the whole application became " + number(applied.measured, 2) + "×" : ""));
}

/// The outcome in the application; and the fastest candidate in the MEP, if that is another one.
std::string headline(const ReportData& data) {
  std::string html;
  if (data.applied && data.applied->kept())
    html =
        "<p><b>Kept</b>" + (data.applied->at.empty() ? "" : " on " + escape(data.applied->at)) +
        (data.applied->commit.empty() ? ""
                                      : " as commit <code>" + escape(data.applied->commit.substr(0, 10)) + "</code>") +
        (data.applied->branch.empty() ? "" : " on branch <code>" + escape(data.applied->branch) + "</code>") +
        (data.applied->tried ? ": " + described(*data.applied->tried) : "") + "</p>";
  else if (data.applied)
    html = "<p><b>Nothing was kept</b> (" + escape(data.applied->outcome) + "): " + escape(data.applied->why) + ".</p>";
  else if (data.fastest)
    html =
        "<p><b>Not applied yet</b>: <code>kernelift apply</code> patches the application and keeps the patch if the "
        "application becomes faster.</p>";
  if (!data.fastest || (data.applied && data.applied->kept() && data.applied->tried &&
                        data.applied->tried->number == data.fastest->number))
    return html;
  html += "<p>Fastest in the MEP: " + described(*data.fastest);
  bool another = data.shown()->number != data.fastest->number;
  if (another) html += ", " + number(data.fastest->speedup, 2) + "×, at least " + number(data.fastest->low, 2) + "×";
  return html + (another && !data.not_taken.empty() ? ". Not taken: " + escape(data.not_taken) : "") + "</p>";
}

/// The outcome first, then the notes, then the patch.
std::string applied_html(const ReportApplied& applied) {
  std::string html = "<h2>In the application</h2><p><b>" + escape(applied.outcome) + "</b>: " + escape(applied.why);
  if (applied.predicted > 0) html += ". Predicted was " + number(applied.predicted, 3) + "×";
  html += ".</p>";
  if (applied.tried) html += "<p>Candidate " + described(*applied.tried) + "</p>";
  if (!applied.notes.empty()) html += "<ul class=\"dim\">";
  for (auto note = applied.notes.begin(); note != applied.notes.end(); ++note)
    if (std::find(applied.notes.begin(), note, *note) == note) html += "<li>" + escape(*note) + "</li>";
  if (!applied.notes.empty()) html += "</ul>";
  return html + (applied.diff.empty() ? "" : diff_html(applied.diff));
}

}  // namespace

std::string report_body(const ReportData& data) {
  size_t tried = 0, right = 0;
  for (auto& candidate : data.candidates)
    if (candidate.tier != "baseline") ++tried, right += candidate.outcome == "ok";
  std::string html;
  html += "<h1>" + escape(data.kernel) + "</h1><div class=\"dim\">" + escape(data.place) + " · timed on " +
          escape(data.device) + " · " + escape(data.run) + "</div>";
  html += "<div class=\"cards\">" + (data.applied ? application_card(*data.applied) : "") + gain_card(data) +
          card(std::to_string(tried), "candidates tried") + card(std::to_string(right), "verified right") +
          card(duration_words(data.seconds), "tuning time") + "</div>";
  html += headline(data);
  if (auto* winner = data.shown()) {
    auto say = [&](const std::string& what, const std::string& known) {
      if (!known.empty()) html += "<p>" + named(*winner) + " " + what + ": " + escape(known) + "</p>";
    };
    say("at sizes that were not recorded", winner->other_sizes);
    say("was run at such sizes", winner->sizes_run);
    say("has code that no launch in check mode came to", winner->not_run);
    say("in exact arithmetic", winner->field);
  }
  for (auto& line : data.fidelity) html += "<p class=\"dim\">Fidelity of the replay: " + escape(line) + "</p>";
  if (!data.proof.empty()) html += "<p class=\"dim\">Slice: " + escape(data.proof) + "</p>";
  html += "<h2>Every candidate</h2>" + chart(data);
  if (auto* winner = data.shown())
    if (const std::string lineage = lineage_html(data, winner->number); !lineage.empty())
      html += "<h2>How " + named(*winner) + " came about</h2>" + lineage;
  if (data.applied) html += applied_html(*data.applied);
  // The application's patch shows the same change, so this one is folded.
  if (!data.diff.empty() && data.applied && !data.applied->diff.empty())
    html += "<details><summary>The change of the extracted kernel</summary>" + diff_html(data.diff) + "</details>";
  else if (!data.diff.empty()) html += "<h2>The change</h2>" + diff_html(data.diff);
  html += "<h2>Recorded launches</h2>" + instance_table(data) +
          (tried ? "<h2>Candidates by proposer</h2>" + proposer_table(data) : "");
  if (!data.hypotheses.empty()) html += "<h2>Hypotheses of models</h2>" + hypothesis_table(data);
  if (!data.models.empty()) html += "<p>Models were asked: " + escape(data.models) + ".</p>";
  for (auto& line : data.inherited) html += "<p>" + escape(line) + ".</p>";
  for (auto& what : data.not_tried) html += "<p>Not tried: " + escape(what) + ".</p>";
  html += "<h2>What failed</h2>" + failure_table(data);
  return html;
}

std::string report_page(const ReportData& data) { return html_page(data.kernel, report_body(data)); }

}  // namespace kernelift::cli
