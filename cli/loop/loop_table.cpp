// Unknown figures are printed as "-"; all kernels with too small a share are summed up in one line.
#include "cli/loop/loop_table.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include "cli/duration.h"
#include "core/base/json_member.h"
#include "core/base/result.h"
#include "core/base/shown/outside_text.h"
#include "core/base/words.h"
#include "core/model/kernel/distinct_names.h"
#include "core/model/kernel_key.h"

namespace kernelift::cli {
namespace {

std::string factor(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3fx", value);
  return value > 0 ? text : "-";
}

std::string line_of(const LoopRow& row, const std::string& kernel) {
  char line[160];
  std::snprintf(line, sizeof line, "%6.1f%%  %12s  %10s  %10s   %-11s  ", row.share * 100,
                factor(row.kernel_gain).c_str(), factor(row.predicted).c_str(), factor(row.measured).c_str(),
                row.outcome.c_str());
  return line + kernel + "\n";
}

DistinctNames names_of(const std::vector<LoopRow>& rows) {
  std::vector<std::string> keys;
  for (auto& row : rows) keys.push_back(row.kernel);
  return DistinctNames(keys);
}

std::string name_of(const LoopRow& row, const DistinctNames& names) {
  const std::string name = shown_line(names.of(row.kernel), kLongestName);
  return row.id.empty() ? name
                        : name + " of " + shown_line(row.file) + " (the share is that of all kernels of this name)";
}

/// From apply's report.
void take_way_back(const Json& report, LoopRow& row) {
  row.way_back = text_member(report, "way_back"), row.ways_back.clear();
  if (auto commits = report.find("commits"); commits != report.end() && commits->is_array())
    for (auto& one : *commits) row.ways_back.emplace_back(text_member(one, "repository"), text_member(one, "way_back"));
  if (row.ways_back.empty() && !row.way_back.empty()) row.ways_back.emplace_back("", row.way_back);
}

}  // namespace

std::string too_long_to_tune(const LoopRow& row, double seconds) {
  // The evaluator runs a long original about eight times and a candidate five times. It plans by its own measurement,
  // which may be half of the duration in the application.
  constexpr double kRuns = 13, kPerhapsFaster = 0.5;
  if (row.launch_seconds * kRuns * kPerhapsFaster <= seconds) return {};
  return "its shortest launch that was recorded took " + duration_words(row.launch_seconds) +
         ", and tuning runs it a dozen times before a first candidate is judged: that is more than the " +
         duration_words(seconds) +
         " available to it; give more time (--time), or run the application on a smaller problem";
}

void read_applied(const Json& document, int exit_code, bool interrupted, LoopRow& row) {
  const Json report = document.is_object() ? document : Json::object();
  row.candidate = static_cast<int64_t>(number_member(report, "candidate"));
  const Json predicted = report.value("predicted", Json());
  row.kernel_gain = number_member(predicted, "kernel_gain");
  row.predicted = number_member(predicted, "whole");
  row.measured = number_member(report.value("measured", Json()), "speedup");
  row.why =
      report.value("why", report.value("error", exit_code == 0 ? "" : "it exited with " + std::to_string(exit_code)));
  row.branch = report.value("branch", "");
  take_way_back(report, row);
  std::string outcome = report.value("outcome", "");
  // A patch that made the application slower for certain is no gain.
  const double high = number_member(report.value("measured", Json()), "speedup_high");
  row.hidden = row.kernel_gain > 1 && (outcome == "too_small" || (outcome == "not_faster" && high > 1));
  if (exit_code == static_cast<int>(Exit::Done)) row.outcome = "kept";
  else if (interrupted) row.outcome = "interrupted";
  else if (exit_code == static_cast<int>(Exit::No))
    row.outcome = outcome.empty() ? "no gain" : outcome == "too_small" ? "too small" : "rolled back";
  else row.outcome = "refused";
}

void read_together(const Json& document, std::vector<LoopRow>& rows) {
  auto each = [&](const char* list, const auto& take) {
    auto found = document.find(list);
    if (found == document.end() || !found->is_array()) return;
    for (auto& one : *found)
      for (auto& row : rows)
        if (!row.run.empty() && std::filesystem::path(row.run).filename() == text_member(one, "run")) take(one, row);
  };
  each("left_out",
       [](const Json& one, LoopRow& row) { row.why += "; not tried with others: " + text_member(one, "why"); });
  each("kernels", [](const Json& one, LoopRow& row) {
    if (!one.value("kept", false)) {
      row.why += "; with others: " + text_member(one, "why");
      return;
    }
    row.outcome = "kept", row.why = text_member(one, "why");
    row.candidate = static_cast<int64_t>(number_member(one, "candidate"));
    row.together = static_cast<size_t>(number_member(one, "trial")) + 1;
  });
  auto trials = document.find("trials");
  if (trials == document.end() || !trials->is_array()) return;
  for (auto& row : rows) {
    if (row.together == 0 || row.together > trials->size()) continue;
    const Json& trial = (*trials)[row.together - 1];
    row.measured = number_member(trial.value("measured", Json()), "speedup");
    row.branch = text_member(trial, "branch");
    take_way_back(trial, row);
  }
}

void mark_undecided(LoopRow& row, const std::string& to_go_on) {
  const bool time = row.stopped_by == "time";
  if (row.outcome != "no gain" || (!time && row.stopped_by != "no progress")) return;
  row.outcome = "undecided";
  row.why += std::string(time ? "; the time was over after " : "; it gave up its time after ") +
             counted(row.tried, "candidate") + " (" + duration_words(row.seconds) + "), to search on: " + to_go_on;
}

double whole_gain(const std::vector<LoopRow>& rows) {
  double whole = 1;
  std::set<size_t> counted;
  for (auto& row : rows)
    if (row.kept() && row.measured > 0 && (row.together == 0 || counted.insert(row.together).second))
      whole *= row.measured;
  return whole;
}

std::string way_back(const std::vector<LoopRow>& rows) {
  reintegrate::WaysBack ways;
  for (auto& row : rows)
    if (row.kept()) ways.insert(ways.end(), row.ways_back.begin(), row.ways_back.end());
  return reintegrate::joined(ways);
}

std::string table_text(const std::vector<LoopRow>& rows, bool on_cpu) {
  std::string text = "\n  share   kernel gain   predicted    measured   outcome      kernel\n", branch;
  const DistinctNames names = names_of(rows);
  LoopRow rest;
  rest.outcome = "skipped";
  size_t small = 0;
  for (auto& row : rows) {
    if (row.share < kSmallestShare && row.run.empty() && (row.outcome.empty() || row.outcome == "skipped")) {
      ++small, rest.share += row.share;
    } else {
      std::string which = row.candidate > 0 ? "#" + std::to_string(row.candidate) + ": " : "";
      text += line_of(row, name_of(row, names)) +
              (row.why.empty() ? "" : "          " + which + shown_line(row.why) + "\n");
    }
    if (row.kept()) branch = row.branch;  // The last patch's branch contains all patches.
  }
  if (small > 0) text += line_of(rest, counted(small, "kernel") + " with too small a share to matter");
  if (small > 0 && small == rows.size())
    text +=
        "          most of the run time is not spent in kernels: give --run a case in which kernels take more of it\n";
  const std::string way = way_back(rows);
  if (way.empty()) return text + "\nThe application is unchanged.";
  char measured[96];
  std::snprintf(measured, sizeof measured, "\nThe whole application, measured step by step%s: %.3fx\n",
                on_cpu ? " on the CPU device, not on a GPU" : "", whole_gain(rows));
  return text + measured +
         (branch.empty() ? std::string("It is patched in place; undo the last patch with: ")
                         : "The patched application is on branch " + branch + "; go back to the original with: ") +
         way;
}

Json to_json(const LoopRow& row) {
  return {{"kernel", row.kernel},
          {"name", shown_name(row.kernel)},
          {"id", row.id},
          {"file", row.file},
          {"roof", row.roof > 0 ? Json(row.roof) : Json(nullptr)},
          {"roof_name", row.roof_name},
          {"share", row.share},
          {"candidate", row.candidate > 0 ? Json(row.candidate) : Json(nullptr)},
          {"kernel_gain", row.kernel_gain},
          {"predicted", row.predicted},
          {"measured", row.measured},
          {"outcome", row.outcome},
          {"why", row.why},
          {"order", row.order},
          {"together", row.together > 0 ? Json(row.together) : Json(nullptr)},
          {"run", row.run},
          {"branch", row.branch},
          {"way_back", row.way_back}};
}

}  // namespace kernelift::cli
