// Whether all threads of a block go the same way: which of a kernel's values they agree on, and whether they can wait
// for each other at different places.
#pragma once
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/Dominators.h>

namespace kernelift::cpu {

class Uniformity {
 public:
  /// `shared_reads`: what all threads read from one place counts as the same for all, as it must be in a program
  /// without races that decides by it about a barrier.
  explicit Uniformity(llvm::Function& body, bool shared_reads);

  llvm::DominatorTree& dominators() { return dominators_; }
  llvm::LoopInfo& loops() { return loops_; }

  /// Threads that stop in one of these blocks stop there together: every branch that lies between is taken in the same
  /// direction by all of them, or leads together again before any stop, or leads to the thread's end on its other side.
  bool waits_are_uniform(llvm::ArrayRef<llvm::BasicBlock*> stops);

 private:
  bool branches_uniformly(llvm::BasicBlock& block);
  bool is_uniform(llvm::Value* value, llvm::BasicBlock& where);
  bool is_block_value(const llvm::Instruction& instruction) const;
  bool diverges_harmlessly(llvm::BasicBlock& block, llvm::ArrayRef<llvm::BasicBlock*> stops);

  llvm::Function& body_;
  llvm::DominatorTree dominators_;
  llvm::LoopInfo loops_;
  llvm::PostDominatorTree post_dominators_;
  llvm::Value* thread_;
  const bool shared_reads_;
};

}  // namespace kernelift::cpu
