// A kernel's sums, made otherwise: as right as before, and rounded differently.
//   taken apart        every floating-point sum that a loop carries is dealt out over a few partial sums, in turn,
//                      and put together where it is used. Any compiler with leave to reassociate may do so, and a
//                      warp or a block
//                      that shares a loop does. (LLVM's own interleaving does the same only where its vectoriser can,
//                      which no call of expf() in the loop survives.)
//   rounded at random  every addition to such a sum, and every atomic one, goes up or down with the probability that
//                      makes it right on average: rounding to nearest may err in one direction a million times in a
//                      row, this
//                      does not. The mean of a few runs is nearer to the exact sum than the original is.
//   in another order   blocks that add to memory atomically come from the last to the first. No order is promised
//                      them, and on a busy GPU the recorded one may have been unlike all that come when nothing else
//                      runs.
#pragma once
#include <cstdint>

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace kernelift {

enum class Strands {
  None,
  Innermost,  ///< The sums of the innermost loops: a long row.
  Outermost,  ///< A sum over a nest as a whole, by the steps of its outermost loop: tiles, channels.
};

/// Takes the sums of `function` apart, which must be in SSA form (after SROA). Returns how many there were.
/// A sum is a loop's variable that each pass only adds to or subtracts from, under whatever conditions, and looks at
/// nowhere else in the loop.
int split_sums(llvm::Function& function, Strands strands);

/// Rounds additions to the same sums at random, and those to memory that are atomic (by atomicAdd, or by a loop around
/// atomicCAS). Of float and double, in SSA form. Which way hangs on the numbers and on `seed` alone. Returns how many
/// additions there were.
int round_sums_at_random(llvm::Function& function, uint64_t seed);

/// Numbers the blocks of `module`'s kernels from the last to the first, where they add floats atomically. Returns how
/// many such additions there are; 0 as well, with nothing changed, where the blocks may wait for earlier ones or form
/// clusters.
int turn_blocks_round(llvm::Module& module);

}  // namespace kernelift
