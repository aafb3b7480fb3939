// Writes the report as text, with predicted and measured figures side by side, and as JSON.
#include "reintegrate/apply_report.h"

#include <algorithm>
#include <ctime>
#include <set>
#include <string_view>

#include "core/base/process.h"
#include "core/base/shown/outside_text.h"
#include "core/base/shown/secrets.h"

namespace kernelift::reintegrate {
namespace {

std::string format(const char* pattern, auto... values) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

/// The diff with generated files cut after their first lines: they are hundreds of lines long, and patch.diff has all.
std::string abridged(const std::string& diff) {
  constexpr size_t kLines = 16;
  std::string out;
  size_t shown = 0, left_out = 0;
  bool created = false;
  auto tell = [&] {
    if (left_out > 0) out += "… and " + std::to_string(left_out) + " more lines of a generated file\n";
    left_out = 0;
  };
  for (size_t at = 0; at < diff.size();) {
    size_t end = std::min(diff.find('\n', at), diff.size() - 1) + 1;
    std::string_view line = std::string_view(diff).substr(at, end - at);
    at = end;
    if (line.starts_with("--- ")) tell(), created = line.starts_with("--- /dev/null"), shown = 0;
    if (created && ++shown > kLines) ++left_out;
    else out += line;
  }
  tell();
  return out;
}

}  // namespace

const char* name(ApplyOutcome outcome) {
  switch (outcome) {
    case ApplyOutcome::Kept: return "kept";
    case ApplyOutcome::NotFaster: return "not_faster";
    case ApplyOutcome::CheckFailed: return "check_failed";
    case ApplyOutcome::BuildFailed: return "build_failed";
    case ApplyOutcome::Checked: return "checked";
    case ApplyOutcome::TooSmall: return "too_small";
    case ApplyOutcome::NotBuilt: return "not_built";
    case ApplyOutcome::Interrupted: return "interrupted";
    case ApplyOutcome::Disturbed: return "disturbed";
    case ApplyOutcome::HookRefused: return "hook_refused";
    case ApplyOutcome::NoPatch: return "no_patch";
  }
  return "unknown";
}

std::optional<double> Prediction::whole() const {
  if (kernel_gain <= 0 || kernel_share <= 0 || kernel_share > 1) return std::nullopt;
  return 1 / (1 - kernel_share + kernel_share / equivalent_gain(kernel_gain, kernel_share, others));
}

std::string ApplyReport::text() const {
  std::string text = abridged(diff);
  if (!diff.empty()) text += "\n";
  for (auto& note : notes) text += "note: " + shown_line(note) + "\n";
  if (auto whole = predicted.whole()) {
    std::string others = text_of(predicted.others);
    text += format("predicted  %.3fx for the application (%s %.1f %% of it and became %.2fx as fast", *whole,
                   kernels.size() > 1 ? "the kernels are" : "the kernel is", 100 * predicted.kernel_share,
                   predicted.kernel_gain) +
            (others.empty() ? "" : "; other kernels with the new values: ") + others + ")\n";
  }
  if (measured) text += "measured   " + measured->text() + where() + "\n";
  text += std::string(kept() ? "kept: " : tried() ? "rolled back: " : "not tried: ") + shown_lines(why) + "\n";
  if (!kept()) return text;
  if (branch.empty()) text += "The originals are in " + shown_line(originals);
  for (size_t i = 0; i < commits.size(); ++i)
    text += (i == 0 ? "The patch is on branch " : " and on branch ") + shown_line(branch) + " (" +
            commits[i].commit.substr(0, 10) + ")" +
            (!commits[i].repository.empty() ? " of the repository " + shown_line(commits[i].repository)
             : commits.size() > 1           ? " of the application's repository"
                                            : "");
  if (!branch.empty()) text += ", now checked out";
  text += "; go back with: " + way_back() + "\n";
  if (!certificate.empty()) text += "What it rests on, to be checked again: " + shown_line(certificate) + "\n";
  return text;
}

std::string ApplyReport::where() const { return on_cpu ? " on the CPU device, not on a GPU" : ""; }

std::string joined(const WaysBack& ways) {
  std::string line;
  std::set<std::string> left;
  for (auto& [repository, command] : ways)
    if (left.insert(repository).second) line += (line.empty() ? "" : " && ") + command;
  return line;
}

WaysBack ApplyReport::ways_back() const {
  if (!kept()) return {};
  if (branch.empty()) return {{"", "kernelift apply --undo"}};
  WaysBack ways;
  for (auto& [repository, commit, previous] : commits) {
    const bool is_commit = (previous.size() == 40 || previous.size() == 64) &&
                           previous.find_first_not_of("0123456789abcdef") == previous.npos;
    std::vector<std::string> words{"git"};
    if (!repository.empty()) words.insert(words.end(), {"-C", repository});
    words.emplace_back("switch");
    if (is_commit) words.emplace_back("--detach");
    words.push_back(previous);
    ways.emplace_back(repository, join_command(words));
  }
  return ways;
}

std::string ApplyReport::way_back() const { return joined(ways_back()); }

Json to_json(const ApplyReport& report) {
  Json others = Json::array();
  for (auto& other : report.predicted.others)
    others.push_back({{"kernel", other.name},
                      {"share", other.share},
                      {"speedup", other.speedup > 0 ? Json(other.speedup) : Json(nullptr)},
                      {"why", other.why}});
  Json passed_over = Json::array();
  for (auto& one : report.passed_over)
    passed_over.push_back({{"candidate", one.candidate}, {"label", one.label}, {"why", one.why}});
  Json kernels = Json::array();
  for (auto& one : report.kernels)
    kernels.push_back({{"kernel", one.kernel}, {"run", one.run}, {"candidate", one.candidate}});
  Json commits = Json::array();
  const WaysBack ways = report.ways_back();
  for (size_t i = 0; i < report.commits.size(); ++i)
    commits.push_back({{"repository", report.commits[i].repository},
                       {"commit", report.commits[i].commit},
                       {"previous", report.commits[i].previous},
                       {"way_back", i < ways.size() ? ways[i].second : ""}});
  const KeptCommit first = report.commits.empty() ? KeptCommit() : report.commits[0];
  auto known = [](double value) { return value > 0 ? Json(value) : Json(nullptr); };
  auto whole = report.predicted.whole();
  return json_without_secrets({{"outcome", name(report.outcome)},
                               {"kept", report.kept()},
                               {"why", report.why},
                               {"kernel", report.kernel},
                               {"candidate", report.candidate > 0 ? Json(report.candidate) : Json(nullptr)},
                               {"kernels", kernels},
                               {"passed_over", passed_over},
                               {"files", report.files},
                               {"diff", report.diff},
                               {"embeds_ptx", report.embeds},
                               {"notes", report.notes},
                               {"predicted",
                                {{"kernel_gain", known(report.predicted.kernel_gain)},
                                 {"kernel_share", known(report.predicted.kernel_share)},
                                 {"others", others},
                                 {"whole", whole ? Json(*whole) : Json(nullptr)}}},
                               {"measured", report.measured ? to_json(*report.measured) : Json(nullptr)},
                               {"on_cpu", report.on_cpu},
                               {"branch", report.branch},
                               {"repository", first.repository},
                               {"commit", first.commit},
                               {"previous", first.previous},
                               {"commits", commits},
                               {"way_back", report.way_back()},
                               {"originals", report.originals},
                               {"certificate", report.certificate},
                               {"at", report.at}});
}

Json undone(Json report) {
  report["why"] = "it was kept on " + report.value("at", "an earlier day") +
                  " and undone by `kernelift apply --undo` on " + utc_now() + "; while it was in, " +
                  report.value("why", "the application was faster");
  report["outcome"] = "undone", report["kept"] = false, report["way_back"] = "";
  return report;
}

std::string utc_now() {
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  char text[32] = "";
  if (gmtime_r(&now, &parts)) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

}  // namespace kernelift::reintegrate
