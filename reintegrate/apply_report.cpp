// Plain text with the figures side by side; see apply_report.h.
#include "reintegrate/apply_report.h"

namespace kernelift {
namespace {

std::string format(const char* pattern, auto... values) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

}  // namespace

const char* name(ApplyOutcome outcome) {
  switch (outcome) {
    case ApplyOutcome::Kept: return "kept";
    case ApplyOutcome::NotFaster: return "not_faster";
    case ApplyOutcome::CheckFailed: return "check_failed";
    case ApplyOutcome::BuildFailed: return "build_failed";
    case ApplyOutcome::NotBuilt: return "not_built";
    case ApplyOutcome::Interrupted: return "interrupted";
    case ApplyOutcome::Disturbed: return "disturbed";
  }
  return "unknown";
}

std::optional<double> Prediction::whole() const {
  if (kernel_gain <= 0 || kernel_share <= 0 || kernel_share > 1) return std::nullopt;
  return 1 / (1 - kernel_share + kernel_share / kernel_gain);
}

std::string ApplyReport::text() const {
  std::string text = diff;
  if (!diff.empty()) text += "\n";
  for (auto& note : notes) text += "note: " + note + "\n";
  if (auto whole = predicted.whole())
    text += format("predicted  %.3fx for the application (the kernel is %.1f %% of it and became %.2fx as fast)\n", *whole,
                   100 * predicted.kernel_share, predicted.kernel_gain);
  if (measured)
    text += format("measured   %.3fx [%.3f, %.3f], %.3f s -> %.3f s, medians of %zu pairs of runs\n", measured->speedup, measured->low,
                   measured->high, measured->before_median, measured->after_median, measured->after.size());
  text += std::string(kept() ? "kept: " : "rolled back: ") + why + "\n";
  if (kept() && !branch.empty())
    text += "The patch is on branch " + branch + " (" + commit.substr(0, 10) + "), now checked out; back with: git switch " +
            (previous.find('/') == previous.npos && previous.size() == 40 ? "--detach " : "") + previous + "\n";
  if (kept() && branch.empty()) text += "The originals are in " + originals + "; put them back with: kernelift apply --undo\n";
  return text;
}

Json to_json(const ApplyReport& report) {
  auto known = [](double value) { return value > 0 ? Json(value) : Json(nullptr); };
  auto whole = report.predicted.whole();
  return {{"outcome", name(report.outcome)},
          {"kept", report.kept()},
          {"why", report.why},
          {"kernel", report.kernel},
          {"candidate", report.candidate > 0 ? Json(report.candidate) : Json(nullptr)},
          {"passed_over", report.passed_over},
          {"files", report.files},
          {"diff", report.diff},
          {"notes", report.notes},
          {"predicted", {{"kernel_gain", known(report.predicted.kernel_gain)},
                         {"kernel_share", known(report.predicted.kernel_share)},
                         {"whole", whole ? Json(*whole) : Json(nullptr)}}},
          {"measured", report.measured ? to_json(*report.measured) : Json(nullptr)},
          {"branch", report.branch},
          {"commit", report.commit},
          {"previous", report.previous},
          {"originals", report.originals}};
}

}  // namespace kernelift
