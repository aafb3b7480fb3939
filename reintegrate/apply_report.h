// What `apply` did and why, for a person and as JSON. Written beside the saved originals, whatever the outcome. It is
// what was so when apply ended, and says when that was: what is checked out later is the user's business; but an
// undoing is noted.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "reintegrate/app_trial.h"
#include "reintegrate/patch/knob_reach.h"

namespace kernelift {

enum class ApplyOutcome {
  Kept,         ///< Right and measurably faster: the patch stands.
  NotFaster,    ///< Right, but the whole application is not measurably faster.
  CheckFailed,  ///< The application's own check fails with the patch.
  BuildFailed,  ///< The application does not build with the patch.
  TooSmall,     ///< Not tried: the predicted gain could not be seen in the application.
  NotBuilt,     ///< The build does not compile what was patched.
  Interrupted,  ///< The user stopped it.
  Disturbed,    ///< Somebody else changed files while it was at work.
  NoPatch,      ///< Not tried: no candidate of the run can be patched in, or is worth it.
};
const char* name(ApplyOutcome);

/// Amdahl's law: what the kernel's own gain is worth for the whole, with what becomes of others that change with it.
struct Prediction {
  double kernel_gain = 0;   ///< In the MEP; 0: unknown.
  double kernel_share = 0;  ///< Of the application's run time when it was recorded; 0: unknown.
  std::vector<OtherKernel> others = {};
  std::optional<double> whole() const;
};

struct ApplyReport {
  ApplyOutcome outcome = ApplyOutcome::NotFaster;
  std::string why;  ///< One sentence.
  std::string kernel;
  int64_t candidate = 0;                 ///< Its number in the run; 0: not known.
  std::vector<std::string> passed_over;  ///< Candidates that promised more or as much, each with its reason.
  std::vector<std::string> files;        ///< Patched, relative to the root.
  std::string diff;
  bool embeds = false;             ///< The patch carries PTX, because the application's compiler cannot make that code.
  std::vector<std::string> notes;  ///< What else the patch reaches, what it leaves out, what was put right first.
  Prediction predicted;
  std::optional<AppTiming> measured;
  bool on_cpu = false;                   ///< Measured on the CPU device, and said wherever a figure is.
  std::string branch, commit, previous;  ///< git: the new branch and its commit; what was checked out before.
  std::string originals;                 ///< Folder with the saved originals, diff and logs.
  std::string at;                        ///< When this was so: utc_now().

  bool tried() const { return outcome != ApplyOutcome::TooSmall && outcome != ApplyOutcome::NoPatch; }
  bool kept() const { return outcome == ApplyOutcome::Kept; }
  std::string text() const;
  /// " on the CPU device, not on a GPU", or nothing.
  std::string where() const;
  /// The command that has the application as it was before; empty if nothing was kept.
  std::string way_back() const;
};

Json to_json(const ApplyReport&);
/// The report of a patch that was kept and has been taken back since: its outcome is "undone".
Json undone(Json report);
/// "2026-11-22 18:40 UTC"
std::string utc_now();

}  // namespace kernelift
