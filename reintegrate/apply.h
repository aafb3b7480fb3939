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
#include "reintegrate/app_trial.h"
#include "reintegrate/apply_report.h"
#include "reintegrate/embed/embedded_code.h"
#include "reintegrate/tree/patch_journal.h"

namespace kernelift::reintegrate {

struct ApplyRequest {
  Mep mep;
  std::string original;  ///< The MEP's kernel.cu.
  Candidate candidate;
  int64_t candidate_id = 0;              ///< The candidate's number in the run; 0: not known.
  std::optional<EmbeddedCode> embedded;  ///< PTX to embed in a generated header instead of patching the source.
  std::optional<ScanIndex> scan;         ///< Tells which other kernels use the lines that are changed; optional.
  Prediction predicted;                  ///< From the run and the capture's profile.
  std::filesystem::path root, state;     ///< The application's root; the state folder.
  std::string build, run, check;         ///< Shell lines, run in the root. No check: the run's exit code is the check.
  std::vector<std::pair<std::string, std::string>> environment;
  bool on_cpu = false;                               ///< The application is built for the CPU device.
  std::vector<std::string> notes = {};               ///< Notes on this request, copied into the report.
  std::vector<PassedOver> passed_over = {};          ///< Other candidates and why they were not tried, for the report.
  std::string branch;                                ///< Name of the git branch; empty: kernelift/<kernel>-<n>.
  std::vector<std::filesystem::path> build_folders;  ///< Folders outside the root that the build writes to.
  TrialOptions trial;
  std::function<void(const std::string&)> progress;  ///< Called with one line of progress at a time; may be empty.
};

/// An Error means that nothing was patched: the patch was refused, or the application itself does not build or pass its
/// check. A patch that was written and rolled back is a report.
Result<ApplyReport> apply(const ApplyRequest& request);

/// Restores the files that an interrupted apply left patched; `needed` is false when there were none.
Result<Restoration> roll_back_interrupted(const std::filesystem::path& state);
/// What the user should know about the restoration, one sentence each; empty when nothing had to be restored.
std::vector<std::string> restoration_notes(const Restoration& leftovers);
/// Restores the originals of the last patch that was kept without git, and marks its report as undone. Files that were
/// changed since are left alone and named.
Result<Restoration> undo_last(const std::filesystem::path& state);

}  // namespace kernelift::reintegrate
