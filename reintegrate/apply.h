// `apply` puts a winning candidate into the application and keeps it there only if the whole application is still
// right and measurably faster. No file of the user's is ever lost: refusals come before the first write, and every
// write after it is journalled and undone unless the patch is kept.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/model/candidate.h"
#include "core/model/mep.h"
#include "core/model/verdict/verdict.h"
#include "reintegrate/app_trial.h"
#include "reintegrate/apply_report.h"
#include "reintegrate/embed/embedded_code.h"
#include "reintegrate/proof/host_proof.h"
#include "reintegrate/rollback.h"

namespace kernelift::reintegrate {

struct ApplyRequest {
  Mep mep;
  std::string original;  ///< The MEP's kernel.cu.
  Candidate candidate;
  int64_t candidate_id = 0;              ///< The candidate's number in the run; 0: not known.
  std::string run_file = {};             ///< The run's name, without its folder; empty: not known.
  std::optional<EmbeddedCode> embedded;  ///< PTX to embed in a generated header instead of patching the source.
  std::optional<ScanIndex> scan;         ///< Tells which other kernels use the lines that are changed; optional.
  Prediction predicted;                  ///< From the run and the capture's profile.
  std::filesystem::path root, state;     ///< The application's root; the state folder.
  std::string build, run, check;         ///< Shell lines, run in the root. No check: the run's exit code is the check.
  std::string timed = {};                ///< Timed in place of `run`, where that alone does not print the figure.
  std::vector<std::pair<std::string, std::string>> environment;
  bool on_cpu = false;                       ///< The application is built for the CPU device.
  std::vector<std::string> notes = {};       ///< Notes on this request, copied into the report.
  std::vector<PassedOver> passed_over = {};  ///< Other candidates and why they were not tried, for the report.
  bool run_hooks = true;                     ///< The git hooks of a commit; else the report says they were not.
  /// Longest time in seconds for a command of the unpatched application and for any build.
  double limit = 3600;
  std::string branch;                                ///< Name of the git branch; empty: kernelift/<kernel>-<n>.
  std::vector<std::filesystem::path> build_folders;  ///< Folders outside the root that the build writes to.
  TrialOptions trial;
  std::optional<Verdict> figures;  ///< Of the candidate, for notes, guards and the certificate; absent: not known.
  bool guards = true;  ///< A launch asks the premise under which its candidate is right; else only the report does.
  HostRules host;      ///< What a patch may change of the host program.
  std::optional<Hash> proven_patch;                  ///< identity() of a patch whose host half has been proven already.
  std::function<void(const std::string&)> progress;  ///< Called with one line of progress at a time; may be empty.
};

/// What a patched launch of the candidate with these figures has to ask.
LaunchGuard guard_of(const ApplyRequest& request, const Candidate& candidate, const Verdict& figures);

/// An Error means that nothing was patched: the patch was refused, or the application itself does not build or pass its
/// check. A patch that was written and rolled back is a report.
Result<ApplyReport> apply(const ApplyRequest& request);

}  // namespace kernelift::reintegrate
