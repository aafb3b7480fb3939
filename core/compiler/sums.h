// Equivalent versions of a kernel's floating-point sums, which are as accurate as the original and are rounded
// differently. They show how far rounding alone moves a kernel's results.
//   Partial sums: every floating-point sum that a loop carries is split into eight partial accumulators, which take
//   the iterations in rotation and are added where the sum is used. A compiler that may reassociate does the same, and
//   so do a warp or block that share a loop. (LLVM's own interleaving does so only for loops that its vectoriser
//   supports, which excludes loops that call expf().)
//   Random rounding: every addition to such a sum, and every atomic addition, is rounded up or down with the
//   probability that makes it exact on average. Rounding to nearest may err in one direction a million times in a row;
//   random rounding does not, so the mean of a few runs is nearer to the exact sum than the original is. Reversed block
//   order: blocks that add to memory atomically are numbered from the last to the first. CUDA promises no order, and
//   when the kernel was recorded, on a busy GPU, the order may have been unlike any on an idle one.
#pragma once
#include <cstdint>

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace kernelift {

/// The sums that are split.
enum class PartialSums {
  None,
  Innermost,  ///< Sums of the innermost loops, by their iterations: a long row.
  Outermost,  ///< Sums over a whole nest of loops, by the iterations of its outermost loop: tiles, channels.
};

/// Splits the sums of `function` into partial sums. EXPECTS: SSA form (after SROA). Returns the number of sums. A sum
/// is a variable of a loop to which each iteration only adds or from which it only subtracts, under any conditions, and
/// which the loop uses for nothing else.
int split_sums(llvm::Function& function, PartialSums partial_sums);

/// Rounds additions to the same sums at random, and also additions to memory: atomic ones (by atomicAdd, or by a loop
/// around atomicCAS), and those of a loop's iterations to one place (`out[row] += x[i]`); in float and double. EXPECTS:
/// SSA form. The direction depends only on the numbers and on `seed`. Returns the number of additions.
int round_sums_at_random(llvm::Function& function, uint64_t seed);

/// Numbers the blocks of `module`'s kernels from the last to the first if they add floats atomically. Returns the
/// number of such additions. Returns 0 and changes nothing if the blocks may wait for earlier ones (volatile or atomic
/// loads in a loop, inline PTX) or form clusters.
int reverse_block_order(llvm::Module& module);

}  // namespace kernelift
