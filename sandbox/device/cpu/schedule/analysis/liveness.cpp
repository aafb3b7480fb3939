// Liveness by walking backwards from each use to the definition, value by value: kernels are small, and only values
// that leave their block are walked. A use in a phi counts as a use at the end of the incoming block.
#include "sandbox/device/cpu/schedule/analysis/liveness.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>

namespace kernelift::cpu {

using namespace llvm;

namespace {

constexpr unsigned kMaxRecomputed = 8;  // Instructions; a frame load costs about as much in a vectorised loop.

void walk(Instruction* value, SmallPtrSetImpl<BasicBlock*>& live_in) {
  SmallVector<BasicBlock*, 16> work;
  auto needed_at_start = [&](BasicBlock* block) {
    if (live_in.insert(block).second) work.push_back(block);
  };
  auto needed_at_end = [&](BasicBlock* block) {
    if (block != value->getParent()) needed_at_start(block);
  };
  for (Use& use : value->uses()) {
    auto* user = cast<Instruction>(use.getUser());
    if (auto* phi = dyn_cast<PHINode>(user)) needed_at_end(phi->getIncomingBlock(use));
    else if (user->getParent() != value->getParent()) needed_at_start(user->getParent());
  }
  while (!work.empty())
    for (BasicBlock* before : predecessors(work.pop_back_val())) needed_at_end(before);
}

bool is_stable_load(const LoadInst& load) {
  if (load.hasMetadata(LLVMContext::MD_invariant_load)) return true;
  const auto* base = dyn_cast<Argument>(load.getPointerOperand()->stripInBoundsConstantOffsets());
  return base && base->getArgNo() == 0;  // A field of the thread itself.
}

bool collect(Instruction* value, SmallVectorImpl<Instruction*>& order) {
  if (is_contained(order, value)) return true;
  if (order.size() >= kMaxRecomputed) return false;
  const bool pure = isa<BinaryOperator, CastInst, GetElementPtrInst, CmpInst, SelectInst>(value) ||
                    (isa<LoadInst>(value) && is_stable_load(cast<LoadInst>(*value)));
  if (!pure) return false;
  for (Value* operand : value->operands())
    if (auto* instruction = dyn_cast<Instruction>(operand); instruction && !collect(instruction, order)) return false;
  order.push_back(value);
  return order.size() <= kMaxRecomputed;
}

}  // namespace

std::map<const BasicBlock*, SmallVector<Instruction*, 8>> live_values_at(Function& function,
                                                                         const SmallPtrSetImpl<BasicBlock*>& starts) {
  std::map<const BasicBlock*, SmallVector<Instruction*, 8>> live;
  for (Instruction& value : instructions(function)) {
    if (isa<AllocaInst>(value) || value.use_empty()) continue;
    SmallPtrSet<BasicBlock*, 16> live_in;
    walk(&value, live_in);
    for (BasicBlock* block : live_in)
      if (starts.contains(block)) live[block].push_back(&value);
  }
  return live;
}

SmallVector<Instruction*, 8> recomputation_of(Instruction* value) {
  SmallVector<Instruction*, 8> order;
  if (!collect(value, order)) order.clear();
  return order;
}

}  // namespace kernelift::cpu
