// Sums that are stored, shared by several blocks in one launch: each keeps what it found in memory, and the last one
// that arrives there, which it learns from an atomic counter, adds all of that in the order of the blocks and goes on
// alone. What the kernel makes of the sums does not matter, and the result is the same in every launch.
#pragma once
#include <optional>
#include <vector>

#include "tuner/source/rules/rule.h"

namespace kernelift::tuner {

/// What the blocks of a launch may keep: numbers, for each sum.
inline constexpr uint64_t kMostKept = 1 << 20;

struct LastArrival {
  std::vector<TextEdit> edits;
  std::vector<Premise> premises;

  /// `loop` only computes sums and extrema in variables of the thread. `axis`: of the grid, not used by the kernel,
  /// with `blocks` blocks in the new launch. Launches of more threads than the arrays have room for leave the loop to
  /// one block each. nullopt if blocks would write something before they are done, if threads may execute the loop more
  /// than once, or if not all of a block reach it where they wait for each other later.
  static std::optional<LastArrival> of(const KernelSource& source, const RuleContext& facts,
                                       const clang::FunctionDecl* kernel, const clang::ForStmt* loop, int axis,
                                       int64_t blocks);
};

}  // namespace kernelift::tuner
