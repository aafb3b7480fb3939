// Sums taken apart: every floating-point sum that a loop carries is dealt out over a few partial sums, in turn, and put
// together where it is used. Any compiler with leave to reassociate may do so, and a warp or a block that shares a loop
// does; what comes out then differs from the original by rounding alone, and this pass shows by how much.
//
// LLVM's own interleaving does the same only where its vectoriser can, which no call of expf() in the loop survives.
#pragma once

namespace llvm {
class Function;
}

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

}  // namespace kernelift
