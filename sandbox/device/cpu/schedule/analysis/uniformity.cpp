// A value is the same for all threads if it is computed from such values in the same way: constants, parameters, what
// belongs to the block, the answer of a barrier. The thread's own coordinates are not, nor is a value chosen by the way
// that a thread came. What cannot be seen to be the same is taken for different.
#include "sandbox/device/cpu/schedule/analysis/uniformity.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "sandbox/device/cpu/lower/module/device_module.h"
#include "sandbox/device/cpu/lower/services.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

/// The blocks from which a thread can come to a stop without passing through `join`.
SmallPtrSet<BasicBlock*, 32> blocks_before(ArrayRef<BasicBlock*> stops, BasicBlock* join) {
  SmallPtrSet<BasicBlock*, 32> found;
  SmallVector<BasicBlock*, 32> work;
  auto add = [&](BasicBlock* block) {
    if (block != join && found.insert(block).second) work.push_back(block);
  };
  for (BasicBlock* stop : stops) add(stop);
  while (!work.empty())
    for (BasicBlock* before : predecessors(work.pop_back_val())) add(before);
  return found;
}

}  // namespace

Uniformity::Uniformity(Function& body, bool shared_reads)
    : body_(body),
      dominators_(body),
      loops_(dominators_),
      thread_(DeviceModule::thread_of(body)),
      shared_reads_(shared_reads) {}

bool Uniformity::waits_are_uniform(ArrayRef<BasicBlock*> stops) {
  post_dominators_.recalculate(body_);
  for (BasicBlock& block : body_)
    if (block.getTerminator()->getNumSuccessors() > 1 && dominators_.isReachableFromEntry(&block) &&
        !branches_uniformly(block) && !diverges_harmlessly(block, stops))
      return false;
  return true;
}

bool Uniformity::branches_uniformly(BasicBlock& block) {
  Instruction* end = block.getTerminator();
  if (auto* branch = dyn_cast<BranchInst>(end))
    return branch->isUnconditional() || is_uniform(branch->getCondition(), block);
  if (auto* choice = dyn_cast<SwitchInst>(end)) return is_uniform(choice->getCondition(), block);
  return end->getNumSuccessors() < 2;
}

/// Threads that go different ways here meet again before any stop, or those of all ways but one stop no more.
bool Uniformity::diverges_harmlessly(BasicBlock& block, ArrayRef<BasicBlock*> stops) {
  auto* node = post_dominators_.getNode(&block);
  BasicBlock* join = node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
  auto successors_that_wait = [&](BasicBlock* before) {
    const auto before_stop = blocks_before(stops, before);
    return count_if(successors(&block), [&](BasicBlock* next) { return before_stop.contains(next); });
  };
  return successors_that_wait(nullptr) <= 1 || (join && successors_that_wait(join) == 0);
}

/// Whether all threads of a block that come to `where` together have the same value there.
bool Uniformity::is_uniform(Value* value, BasicBlock& where) {
  SmallPtrSet<Value*, 16> seen;
  SmallVector<std::pair<Value*, BasicBlock*>, 16> work = {{value, &where}};
  while (!work.empty()) {
    auto [next, user] = work.pop_back_val();
    if (isa<Constant>(next)) continue;
    if (isa<Argument>(next)) {
      if (next == thread_) return false;
      continue;
    }
    auto* instruction = dyn_cast<Instruction>(next);
    if (!instruction) return false;
    // Threads may have left a loop after different steps.
    if (Loop* loop = loops_.getLoopFor(instruction->getParent()); loop && !loop->contains(user)) return false;
    if (!seen.insert(instruction).second) continue;
    if (auto* phi = dyn_cast<PHINode>(instruction)) {
      // The count of a loop's steps; a value chosen by the way that a thread came is its own.
      Loop* loop = loops_.getLoopFor(phi->getParent());
      if (!loop || loop->getHeader() != phi->getParent() || !loop->getLoopPredecessor() || !loop->getLoopLatch())
        return false;
      for (BasicBlock* from : phi->blocks()) work.push_back({phi->getIncomingValueForBlock(from), from});
      continue;
    }
    if (is_block_value(*instruction)) continue;
    auto* call = dyn_cast<IntrinsicInst>(instruction);  // Minimum, maximum, absolute value.
    const bool computed = isa<BinaryOperator, CmpInst, CastInst, SelectInst, FreezeInst>(instruction) ||
                          (call && call->doesNotAccessMemory());
    const bool read = shared_reads_ &&
                      (isa<GetElementPtrInst>(instruction) || (isa<LoadInst>(instruction) && !instruction->isAtomic()));
    if (!computed && !read) return false;
    for (Use& operand : call ? call->args() : instruction->operands())
      work.push_back({operand, instruction->getParent()});
  }
  return true;
}

/// A field of the block (its index, its size, the grid's), which is found through the thread's first field; where a
/// shared variable is; what a barrier answers.
bool Uniformity::is_block_value(const Instruction& instruction) const {
  if (auto* load = dyn_cast<LoadInst>(&instruction)) {
    if (!load->hasMetadata(LLVMContext::MD_invariant_load)) return false;
    auto* block = dyn_cast<LoadInst>(load->getPointerOperand()->stripInBoundsConstantOffsets());
    return block && block->getType()->isPointerTy() && block->getPointerOperand() == thread_;
  }
  auto* call = dyn_cast<CallInst>(&instruction);
  if (!call || !shared_reads_ || !call->getCalledFunction()) return false;
  return is_service(*call, Service::barrier) || call->getCalledFunction()->getName().starts_with("shared.");
}

}  // namespace kernelift::cpu
