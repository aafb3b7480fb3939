// A grid-stride loop, in which the threads of the whole grid share the iterations:
//   for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) out[i] = …;
// The first value and the stride may be variables.
#pragma once
#include <optional>

#include "tuner/source/rules/threads/block_index.h"

namespace kernelift::tuner {

/// The loop as a global index along x: its counter, and the first value of that. nullopt if there is none, or if a
/// thread does more than its iterations: accesses memory outside of the loop, or learns within it which thread it is.
std::optional<GlobalIndex> grid_stride_loop(const KernelSource& source, const clang::FunctionDecl* kernel);

}  // namespace kernelift::tuner
