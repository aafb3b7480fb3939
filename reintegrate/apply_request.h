// What `apply` needs, collected from the artefacts of the earlier stages: the winner from the run, the slice and its
// origins from the MEP, who else is touched from the scan, the kernel's share of the time from the capture.
#pragma once
#include <filesystem>

#include "reintegrate/apply.h"

namespace kernelift {

/// Fills everything but the commands and the progress. `run` is a run file, or a kernel's name for its latest run.
/// Answers no when nothing in the run is a gain; refuses when the gain cannot be written as source.
Result<ApplyRequest> request_from_run(const std::filesystem::path& run, const std::filesystem::path& state);

}  // namespace kernelift
