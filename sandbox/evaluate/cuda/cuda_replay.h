// Replay on a GPU; see sandbox/evaluate/evaluate.h.
#pragma once
#include "sandbox/evaluate/evaluate.h"

namespace kernelift {

Result<ReplayReport> replay_on_cuda(const std::filesystem::path& folder, const Mep& mep, const ReplayOptions& options);
/// True if a GPU of this machine answers; asked in a process of its own, once.
bool cuda_answers();

}  // namespace kernelift
