// The report of `apply`: what it did and why, as text and as JSON. It is written beside the saved originals, whatever
// the outcome. It describes the state when apply ended and carries that date; later changes of the tree are not
// recorded, except an undo.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "reintegrate/app_trial.h"
#include "reintegrate/patch/constants/shared_knobs.h"

namespace kernelift::reintegrate {

enum class ApplyOutcome {
  Kept,         ///< Right and measurably faster: the patch was kept.
  NotFaster,    ///< Right, but the whole application is not measurably faster.
  CheckFailed,  ///< The application's own check fails with the patch.
  BuildFailed,  ///< The application does not build with the patch.
  Checked,      ///< Right; nothing else was asked.
  TooSmall,     ///< Not tried: the predicted gain is too small to be measured in the application.
  NotBuilt,     ///< The build does not compile the patched files.
  Interrupted,  ///< The user stopped it.
  Disturbed,    ///< Another program changed files while apply was running.
  HookRefused,  ///< The repository's hooks do not let the patch be committed as it is.
  NoPatch,      ///< Not tried: no candidate of the run can be patched in, or is worth it.
};
const char* name(ApplyOutcome);

/// Predicts the whole application's speedup by Amdahl's law from the kernel's gain and the effect on other kernels that
/// share a knob with it.
struct Prediction {
  double kernel_gain = 0;   ///< Speedup of the kernel in its MEP; 0: unknown.
  double kernel_share = 0;  ///< Share of the application's run time when it was recorded; 0: unknown.
  std::vector<OtherKernel> others = {};
  std::optional<double> whole() const;
};

/// A kernel that a patch changes.
struct PatchedKernel {
  std::string kernel, run;  ///< Its name; the run's file, without its folder.
  int64_t candidate = 0;    ///< Number in the run; 0: not known.
};

/// A candidate that was not kept, and why.
struct PassedOver {
  int64_t candidate = 0;  ///< Its number in the run.
  std::string label;      ///< "#7 (source: unroll the loop over k (by 4), 1.31x)".
  std::string why;
  std::string text() const { return label + ": " + why; }
};

/// A commit of a kept patch.
struct KeptCommit {
  std::string repository;        ///< Empty: the one that the application's folder is in.
  std::string commit, previous;  ///< `previous`: the branch or commit that was checked out before.
};

/// By repository, the command that leaves a patch, in the order in which patches were kept; the repository is "" for
/// the application's own, and for a patch without git.
using WaysBack = std::vector<std::pair<std::string, std::string>>;
/// Of several patches, the first way out of each repository leads back to the original: these, as one command.
std::string joined(const WaysBack& ways);

struct ApplyReport {
  ApplyOutcome outcome = ApplyOutcome::NotFaster;
  std::string why;                      ///< One sentence.
  std::string kernel;                   ///< Of several the names, with commas.
  int64_t candidate = 0;                ///< The candidate's number in the run; 0: not known, or there are several.
  std::vector<PatchedKernel> kernels;   ///< All that the patch changes.
  std::vector<PassedOver> passed_over;  ///< Candidates that promised as much or more.
  std::vector<std::string> files;       ///< Patched files, relative to the root.
  std::string diff;
  bool embeds = false;             ///< The patch carries PTX, because the application's compiler cannot make that code.
  std::vector<std::string> notes;  ///< Side effects of the patch, what it leaves out, and what was restored first.
  Prediction predicted;
  std::optional<AppTiming> measured;
  bool on_cpu = false;                   ///< Measured on the CPU device; mentioned beside every figure.
  std::string branch;                    ///< git: the new branch, of this name in every repository.
  std::vector<KeptCommit> commits = {};  ///< One for each repository of whose files the patch changes any.
  std::string originals;                 ///< Folder with the saved originals, diff and logs.
  std::string certificate = {};          ///< Of a kept patch: the file (core/model/verdict/certificate.h); empty: none.
  double check_seconds = 0;              ///< What the check of the unpatched application took.
  std::string at;                        ///< Date of the report: utc_now().

  bool tried() const { return outcome != ApplyOutcome::TooSmall && outcome != ApplyOutcome::NoPatch; }
  bool kept() const { return outcome == ApplyOutcome::Kept; }
  std::string text() const;
  /// " on the CPU device, not on a GPU", or nothing.
  std::string where() const;
  WaysBack ways_back() const;
  /// The command that returns the application to its state before the patch; empty if nothing was kept.
  std::string way_back() const;
};

Json to_json(const ApplyReport&);
/// The report of a kept patch after it was undone: its outcome is "undone".
Json undone(Json report);
/// "2026-11-22 18:40 UTC"
std::string utc_now();

}  // namespace kernelift::reintegrate
