// Runner processes on this machine's processor.
#pragma once
#include "sandbox/evaluate/runner/runner_process.h"

namespace kernelift::sandbox {

/// A fork server of runners of a MEP. `threads`: cores that a kernel may use; 0: all.
Result<std::unique_ptr<ForkServer>> cpu_runners(const Mep& mep, const std::filesystem::path& folder,
                                                RunnerSettings settings, unsigned threads);

}  // namespace kernelift::sandbox
