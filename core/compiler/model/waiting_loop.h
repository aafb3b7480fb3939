// Loops that may wait for another thread: whose exit depends on what an atomic operation, a volatile load, a load
// beside a fence or an unknown call returned.
#pragma once
#include <functional>
#include <vector>

namespace llvm {
class DominatorTree;
class Function;
class Instruction;
class Loop;
class Module;
}  // namespace llvm

namespace kernelift {

/// The instruction whose value `loop` waits for; nullptr if it waits for none. `is_pause` knows calls that do for a
/// fence what a fence does: loads beside them may change.
llvm::Instruction* awaited_in(llvm::Loop& loop, llvm::DominatorTree& dominators,
                              const std::function<bool(const llvm::Instruction&)>& is_pause = {});

struct Wait {
  unsigned line = 0;   ///< In the kernel's own source; 0: not known.
  int parameter = -1;  ///< What is read lies where this parameter points to; -1: not known.
};

/// Of a kernel in unoptimised device IR, which this changes (model_preparation.h).
std::vector<Wait> waits_of(llvm::Module& module, llvm::Function& kernel);

}  // namespace kernelift
