// A loop over threads that holds a loop cannot be vectorised, and the inner one often cannot either: a sum of floating
// point numbers has an order. Cut at each of its steps, the loop over threads is the inner one. That costs a row of the
// frame for every value that a step hands to the next, so it is done only where vectors gain far more: where a step calls
// the mathematics library. (Measured: a bilateral filter 2.5 times as fast; sums of products as fast or slower.)
//
// It is done only where it cannot be told from a __syncthreads() that all threads reach equally often, or that some never
// reach again because they have ended: every branch that lies between must be taken alike by all threads of the block, or
// lead together again before the loop, or lead to the thread's end on its other side.
#include "sandbox/device/cpu/schedule/analysis/shared_steps.h"

#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include "sandbox/device/cpu/block_context.h"
#include "sandbox/device/cpu/lower/context_layout.h"
#include "sandbox/device/cpu/lower/services.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

constexpr unsigned kMostBlocks = 8;  ///< Of a step: each condition becomes a mask.

/// What glibc has vectors of and what takes far longer than a row of the frame.
bool is_dear(const Instruction& instruction) {
  const auto* call = dyn_cast<IntrinsicInst>(&instruction);
  if (!call || !call->getType()->isFloatingPointTy()) return false;
  switch (call->getIntrinsicID()) {
    case Intrinsic::exp:
    case Intrinsic::exp2:
    case Intrinsic::log:
    case Intrinsic::log2:
    case Intrinsic::log10:
    case Intrinsic::pow:
    case Intrinsic::sin:
    case Intrinsic::cos: return true;
    default: return false;
  }
}

class StepFinder {
 public:
  explicit StepFinder(Function& body)
      : body_(body), dominators_(body), loops_(dominators_), thread_(DeviceModule::thread_of(body)) {}

  /// The blocks at whose start threads stop.
  SmallVector<BasicBlock*, 8> find() {
    if (!is_plain()) return {};
    SmallVector<Loop*, 4> candidates;
    for (Loop* loop : loops_.getLoopsInPreorder())
      if (is_worth_it(*loop)) candidates.push_back(loop);
    // Each gets an entry, one way back and an exit of its own.
    for (Loop* loop : candidates) simplifyLoop(loop, &dominators_, &loops_, nullptr, nullptr, nullptr, /*PreserveLCSSA=*/false);
    post_dominators_.recalculate(body_);
    for (Loop* loop : candidates) {
      if (!loop->getLoopLatch() || !loop->getExitingBlock() || !loop->getExitBlock() || !loop->hasDedicatedExits()) continue;
      SmallVector<BasicBlock*, 8> together = stops_;
      stops_.append({loop->getHeader(), loop->getExitBlock()});
      if (!all_arrive_alike()) stops_ = together;
    }
    return stops_;
  }

 private:
  /// Nothing by which one thread could notice how far another is.
  bool is_plain() const {
    for (Instruction& instruction : instructions(body_)) {
      if (isa<AllocaInst>(instruction) || instruction.isVolatile() || instruction.isAtomic()) return false;
      if (const auto* call = dyn_cast<CallBase>(&instruction); call && !isa<IntrinsicInst>(call)) return false;
    }
    return true;
  }

  static bool is_worth_it(const Loop& loop) {
    if (!loop.isInnermost() || loop.getNumBlocks() > kMostBlocks) return false;
    bool sums = false, dear = false;
    for (PHINode& phi : loop.getHeader()->phis()) sums |= phi.getType()->isFloatingPointTy();
    for (BasicBlock* block : loop.blocks())
      for (Instruction& instruction : *block) dear |= is_dear(instruction);
    return sums && dear;
  }

  bool all_arrive_alike() {
    for (BasicBlock& block : body_) {
      Instruction* end = block.getTerminator();
      if (end->getNumSuccessors() < 2 || !dominators_.isReachableFromEntry(&block)) continue;
      if (isa<BranchInst>(end) && is_alike(cast<BranchInst>(end)->getCondition(), block)) continue;
      if (isa<SwitchInst>(end) && is_alike(cast<SwitchInst>(end)->getCondition(), block)) continue;
      if (!parts_harmlessly(block)) return false;
    }
    return true;
  }

  bool stops_after(BasicBlock& start, const SmallPtrSetImpl<BasicBlock*>* without) {
    if (without && without->contains(&start)) return false;
    for (BasicBlock* stop : stops_)
      if (isPotentiallyReachable(&start, stop, without, &dominators_, &loops_)) return true;
    return false;
  }

  /// Threads that go different ways here meet again before any stop, or those of all ways but one stop no more.
  bool parts_harmlessly(BasicBlock& block) {
    SmallPtrSet<BasicBlock*, 1> meeting;
    if (auto* node = post_dominators_.getNode(&block); node && node->getIDom() && node->getIDom()->getBlock())
      meeting.insert(node->getIDom()->getBlock());
    unsigned stopping = 0, stopping_before = 0;
    for (BasicBlock* next : successors(&block)) {
      stopping += stops_after(*next, nullptr);
      stopping_before += !meeting.empty() && stops_after(*next, &meeting);
    }
    return stopping <= 1 || (!meeting.empty() && stopping_before == 0);
  }

  /// Whether all threads of a block that come to `where` together have the same value there.
  bool is_alike(Value* value, BasicBlock& where) {
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
        if (!loop || loop->getHeader() != phi->getParent() || !loop->getLoopPreheader() || !loop->getLoopLatch()) return false;
        for (BasicBlock* from : phi->blocks()) work.push_back({phi->getIncomingValueForBlock(from), from});
        continue;
      }
      if (auto* load = dyn_cast<LoadInst>(instruction)) {
        if (!reads_block(*load)) return false;
        continue;
      }
      auto* call = dyn_cast<IntrinsicInst>(instruction);  // Minimum, maximum, absolute value.
      if (!isa<BinaryOperator, CmpInst, CastInst, SelectInst, FreezeInst>(instruction) && !(call && call->doesNotAccessMemory())) return false;
      for (Use& operand : call ? call->args() : instruction->operands()) work.push_back({operand, instruction->getParent()});
    }
    return true;
  }

  /// A field of the block (its index, its size, the grid's), which is found through the thread's first field.
  bool reads_block(const LoadInst& load) const {
    if (!load.hasMetadata(LLVMContext::MD_invariant_load)) return false;
    const auto* block = dyn_cast<LoadInst>(load.getPointerOperand()->stripInBoundsConstantOffsets());
    return block && block->getType()->isPointerTy() && block->getPointerOperand() == thread_;
  }

  Function& body_;
  DominatorTree dominators_;
  LoopInfo loops_;
  PostDominatorTree post_dominators_;
  Value* thread_;
  SmallVector<BasicBlock*, 8> stops_;
};

}  // namespace

SmallVector<Instruction*, 4> share_steps(Kernel& kernel) {
  SmallVector<Instruction*, 4> barriers;
  for (BasicBlock* block : StepFinder(*kernel.body).find()) {
    IRBuilder<> builder(block, block->getFirstInsertionPt());
    Value* zero = builder.getInt32(0);
    barriers.push_back(call_service(builder, Service::barrier,
                                    {DeviceModule::thread_of(*kernel.body), zero, zero, builder.getInt32(KL_BARRIER_SYNC), zero, zero}));
  }
  return barriers;
}

}  // namespace kernelift::cpu
