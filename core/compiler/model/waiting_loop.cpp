// A loop waits if the backward slice of an exit condition, kept inside the loop, holds a value another thread may
// change. Two common loops look like that and never wait: compare-and-swap retries (`do old = CAS(p, assumed = old,
// f(assumed)) while (old != assumed)`: each retry means that somebody else succeeded) and counters fetched by
// atomicAdd of a non-zero constant (a work queue). Treating those as waiting would be right but slow.
#include "core/compiler/model/waiting_loop.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>

#include "core/compiler/model/model_preparation.h"
#include "core/compiler/model/source_line.h"

namespace kernelift {

using namespace llvm;

namespace {

/// `exchange` is retried with what it last saw as its expectation.
bool is_retry(const AtomicCmpXchgInst& exchange, const Loop& loop) {
  const auto* expected = dyn_cast<Instruction>(exchange.getCompareOperand()->stripPointerCasts());
  return expected && loop.contains(expected);
}

bool moves_on(const AtomicRMWInst& update) {
  switch (update.getOperation()) {
    case AtomicRMWInst::Add:
    case AtomicRMWInst::Sub: {
      const auto* step = dyn_cast<ConstantInt>(update.getValOperand());
      return step && !step->isZero();
    }
    case AtomicRMWInst::UIncWrap:
    case AtomicRMWInst::UDecWrap: return true;
    default: return false;
  }
}

class WaitFinder {
 public:
  WaitFinder(Loop& loop, DominatorTree& dominators, const std::function<bool(const Instruction&)>& is_pause)
      : loop_(loop), dominators_(dominators) {
    for (BasicBlock* block : loop.blocks())
      for (Instruction& instruction : *block)
        has_fence_ |= isa<FenceInst>(instruction) || (is_pause && is_pause(instruction));
  }

  /// The instruction whose value the loop waits on, or nullptr.
  Instruction* find() {
    SmallVector<BasicBlock*, 8> exiting;
    loop_.getExitingBlocks(exiting);
    for (BasicBlock* block : exiting) need_condition_of(*block);
    while (!work_.empty()) {
      Instruction* instruction = work_.pop_back_val();
      if (is_wait(*instruction)) return instruction;
      if (isa<AtomicCmpXchgInst>(instruction) || isa<AtomicRMWInst>(instruction)) continue;
      for (Value* operand : instruction->operands()) need(operand);
      if (auto* phi = dyn_cast<PHINode>(instruction)) need_choice_of(*phi);
    }
    return nullptr;
  }

 private:
  bool is_wait(Instruction& instruction) {
    if (auto* load = dyn_cast<LoadInst>(&instruction))
      return load->isVolatile() || load->isAtomic() ||
             (has_fence_ && !load->hasMetadata(LLVMContext::MD_invariant_load));
    if (auto* update = dyn_cast<AtomicRMWInst>(&instruction)) return !moves_on(*update);
    if (auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) return !is_retry(*exchange, loop_);
    if (auto* call = dyn_cast<CallInst>(&instruction)) {
      const Function* callee = call->getCalledFunction();
      return (!callee || !callee->isDeclaration()) && !call->onlyReadsMemory();
    }
    return false;
  }

  void need(Value* value) {
    auto* instruction = dyn_cast<Instruction>(value);
    if (instruction && loop_.contains(instruction) && seen_.insert(instruction).second) work_.push_back(instruction);
  }

  void need_condition_of(BasicBlock& block) {
    Instruction* end = block.getTerminator();
    if (auto* branch = dyn_cast<BranchInst>(end); branch && branch->isConditional()) need(branch->getCondition());
    if (auto* choice = dyn_cast<SwitchInst>(end)) need(choice->getCondition());
  }

  /// Which of a phi's values is taken depends on the branches between its block's dominator and itself.
  void need_choice_of(PHINode& phi) {
    BasicBlock* block = phi.getParent();
    unsigned from_inside = 0;
    for (BasicBlock* before : phi.blocks()) from_inside += loop_.contains(before);
    if (from_inside < 2) return;
    auto* node = dominators_.getNode(block);
    BasicBlock* above =
        block == loop_.getHeader() || !node->getIDom() ? loop_.getHeader() : node->getIDom()->getBlock();
    for (BasicBlock* other : loop_.blocks())
      if (dominators_.dominates(above, other)) need_condition_of(*other);
  }

  Loop& loop_;
  DominatorTree& dominators_;
  bool has_fence_ = false;
  SmallVector<Instruction*, 16> work_;
  SmallPtrSet<Instruction*, 16> seen_;
};

/// The parameter whose memory `awaited` reads.
int parameter_of(const Instruction& awaited) {
  for (const Value* operand : awaited.operands())
    if (operand->getType()->isPointerTy())
      if (auto* argument = dyn_cast<Argument>(getUnderlyingObject(operand))) return int(argument->getArgNo());
  return -1;
}

}  // namespace

Instruction* awaited_in(Loop& loop, DominatorTree& dominators,
                        const std::function<bool(const Instruction&)>& is_pause) {
  return WaitFinder(loop, dominators, is_pause).find();
}

std::vector<Wait> waits_of(Module& module, Function& kernel) {
  prepare_for_model(module, kernel, std::nullopt);
  DominatorTree dominators(kernel);
  LoopInfo loops(dominators);
  std::vector<Wait> waits;
  for (Loop* loop : loops.getLoopsInPreorder())
    if (Instruction* awaited = awaited_in(*loop, dominators))
      waits.push_back({line_of(*awaited), parameter_of(*awaited)});
  return waits;
}

}  // namespace kernelift
