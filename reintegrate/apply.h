// `apply` puts a winning candidate into the application and keeps it there only if the whole application is still
// right and measurably faster. No file of the user's is ever lost: refusals come before the first write, and every
// write after it is journalled and undone unless the patch is kept.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reintegrate/app_trial.h"
#include "reintegrate/apply_report.h"
#include "reintegrate/kernel_change.h"
#include "reintegrate/proof/host_proof.h"
#include "reintegrate/rollback.h"

namespace kernelift::reintegrate {

/// The change of one kernel, or of several in one patch, and what the application is built and judged by.
struct ApplyRequest : KernelChange {
  std::vector<KernelChange> with;     ///< Further kernels, whose changes are in the same patch.
  std::optional<ScanIndex> scan;      ///< Tells which other kernels use the lines that are changed; optional.
  std::filesystem::path root, state;  ///< The application's root; the state folder.
  std::string build, run, check;      ///< Shell lines, run in the root. No check: the run's exit code is the check.
  std::string timed = {};             ///< Timed in place of `run`, where that alone does not print the figure.
  std::vector<std::pair<std::string, std::string>> environment;
  bool on_cpu = false;                       ///< The application is built for the CPU device.
  std::vector<std::string> notes = {};       ///< Notes on this request, copied into the report.
  std::vector<PassedOver> passed_over = {};  ///< Other candidates and why they were not tried, for the report.
  bool run_hooks = true;                     ///< The git hooks of a commit; else the report says they were not.
  /// Longest time in seconds for a command of the unpatched application and for any build.
  double limit = 3600;
  std::string branch;                                ///< Name of the git branch; empty: kernelift/<kernel>-<n>.
  std::vector<std::filesystem::path> build_folders;  ///< Folders outside the root that the build writes to.
  /// Further git repositories, by their tops, whose files a patch may change: of a library that this application uses.
  std::vector<std::filesystem::path> repositories = {};
  TrialOptions trial;
  bool only_check = false;  ///< Build and check with the patch, then restore the originals: ApplyOutcome::Checked.
  /// The application was built and checked as it is by an earlier apply(), and its check took these seconds.
  std::optional<double> check_seconds;
  /// The launches are in no file, as of a program that the application compiles while it runs: nothing is asked or
  /// changed at them, and the report says what a launch of the kernel must be like.
  bool launched_elsewhere = false;
  bool guards = true;  ///< A launch asks the premise under which its candidate is right; else only the report does.
  HostRules host;      ///< What a patch may change of the host program.
  std::optional<Hash> proven_patch;                  ///< identity() of a patch whose host half has been proven already.
  std::function<void(const std::string&)> progress;  ///< Called with one line of progress at a time; may be empty.
};

/// What a patched launch of the candidate with these figures has to ask.
LaunchGuard guard_of(const ApplyRequest& request, const Mep& mep, const Candidate& candidate, const Verdict& figures,
                     const std::optional<Expression>& where = {});

/// EXPECTS: both outlive the question.
PatchQuestion patch_question(const ApplyRequest& request, const KernelChange& change);

/// An Error means that nothing was patched: the patch was refused, or the application itself does not build or pass its
/// check. A patch that was written and rolled back is a report.
Result<ApplyReport> apply(const ApplyRequest& request);

}  // namespace kernelift::reintegrate
