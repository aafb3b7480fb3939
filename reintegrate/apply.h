// `apply`: puts a winning candidate into the application, and keeps it there only if the whole application is still
// right and measurably faster. Nothing of the user's is lost on any way out: refusals come before the first write, and
// everything after it is journalled and put back.
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

namespace kernelift {

struct ApplyRequest {
  Mep mep;
  std::string original;  ///< kernel.cu of the MEP.
  Candidate candidate;
  int64_t candidate_id = 0;              ///< Its number in the run; 0: not known.
  std::optional<EmbeddedCode> embedded;  ///< Instead of the candidate's source: its PTX, in a generated header.
  std::optional<ScanIndex> scan;         ///< Who else uses what is changed; optional.
  Prediction predicted;                  ///< From the run and the capture's profile.
  std::filesystem::path root, state;     ///< The application's root; the state folder.
  std::string build, run, check;         ///< Shell lines, run in the root. No check: the run's exit code is the check.
  std::vector<std::pair<std::string, std::string>> environment;
  bool on_cpu = false;                               ///< The application is built for the CPU device.
  std::vector<std::string> notes = {};               ///< For the report: what is known of the request beforehand …
  std::vector<std::string> passed_over = {};         ///< … and of other candidates.
  std::string branch;                                ///< Empty: kernelift/<kernel>-<n>.
  std::vector<std::filesystem::path> build_folders;  ///< Where the build writes besides the root.
  TrialOptions trial;
  std::function<void(const std::string&)> progress;  ///< One line at a time; may be empty.
};

/// An Error means that nothing was patched (refused, or the application itself is not in order); everything that was
/// patched and put back is a report.
Result<ApplyReport> apply(const ApplyRequest& request);

/// Puts back what an interrupted apply left in the application's files; `needed` is false when there was nothing.
Result<Restoration> roll_back_interrupted(const std::filesystem::path& state);
/// What a person should know about it, a sentence each; empty when there was nothing.
std::vector<std::string> notes_of(const Restoration& leftovers);
/// Puts back the originals of the last apply that was kept without git, and has its report say so. Files changed since
/// are left alone and named.
Result<Restoration> undo_last(const std::filesystem::path& state);

}  // namespace kernelift
