// Replay on a GPU; see sandbox/evaluate/evaluate.h.
#pragma once
#include "sandbox/evaluate/cuda/cuda_evaluator.h"

namespace kernelift::sandbox {

RunnerSettings runner_settings(const ReplayOptions& options);
Result<ReplayReport> replay_on_cuda(const std::filesystem::path& folder, const Mep& mep, const ReplayOptions& options,
                                    OpenedGpu gpu);

}  // namespace kernelift::sandbox
