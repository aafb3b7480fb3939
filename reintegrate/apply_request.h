// What `apply` needs, collected from the artefacts of the earlier stages: the candidates from the run, the slice and its
// origins from the MEP, who else is touched from the scan, the kernel's share of the time from the capture.
#pragma once
#include <filesystem>
#include <vector>

#include "reintegrate/apply.h"
#include "tuner/store/run.h"

namespace kernelift {

/// What a run has to offer to its application.
struct RunOffer {
  ApplyRequest request;              ///< All but the commands, the progress and the candidate.
  double kernel_share = 0;           ///< Of the application's run time; 0: unknown.
  std::vector<RunTrial> promising;   ///< What a source patch may express and whose figures promise a gain; by id.
  std::optional<RunTrial> compiler_gain;  ///< The best gain that is in how the kernel is compiled.
};

/// `run` is a run file, or a kernel's name for its latest run.
Result<std::filesystem::path> find_run(const std::filesystem::path& run, const std::filesystem::path& state);
Result<RunOffer> offer_of(const Run& run, const std::filesystem::path& state);

}  // namespace kernelift
