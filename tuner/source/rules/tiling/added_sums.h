// Whether a loop does no more with its sums than add to them, so that its iterations can be summed in parts.
#pragma once
#include "tuner/source/rules/tiling/tiled_loop.h"

namespace kernelift::tuner {

/// `body` mentions these sums only where it adds to them or subtracts from them, and each term is of the sum's kind:
/// what is added to an integer is cut to one in every iteration.
bool only_adds(const KernelSource& source, const clang::Stmt* body, const std::vector<TileSum>& sums);

}  // namespace kernelift::tuner
