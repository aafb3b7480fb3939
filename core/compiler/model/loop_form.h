// How a loop's iterations follow from its header.
#pragma once

namespace llvm {
class Loop;
class ScalarEvolution;
}  // namespace llvm

namespace kernelift {

/// True if a loop's only exit is in its header, by a comparison that fails for ever once it fails: then an iteration
/// whose comparison holds follows only such iterations, and the comparison alone says which iterations there are.
bool header_says_all(llvm::Loop& loop, llvm::ScalarEvolution& evolution);

}  // namespace kernelift
