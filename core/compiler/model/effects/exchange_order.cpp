// See exchange_order.h.
#include "core/compiler/model/effects/exchange_order.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/Instructions.h>

namespace kernelift {
namespace {

/// Instructions of whose results the instruction's operands are made, when it is executed after them in one iteration
/// of the loops around both: what an iteration before left is none of them.
llvm::SetVector<const llvm::Instruction*> made_of(const llvm::Instruction& use, const llvm::LoopInfo& loops) {
  llvm::SetVector<const llvm::Instruction*> found;
  auto add = [&](const llvm::Value* operand) {
    if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(operand); instruction && instruction != &use)
      found.insert(instruction);
  };
  for (auto& operand : use.operands()) add(operand);
  for (size_t i = 0; i < found.size(); ++i) {
    const llvm::Instruction& one = *found[i];
    auto* phi = llvm::dyn_cast<llvm::PHINode>(&one);
    auto* loop = phi ? loops.getLoopFor(phi->getParent()) : nullptr;
    const bool around = loop && loop->getHeader() == phi->getParent() && loop->contains(use.getParent());
    for (unsigned k = 0; k < one.getNumOperands(); ++k)
      if (!around || !loop->contains(phi->getIncomingBlock(k))) add(one.getOperand(k));
  }
  return found;
}

}  // namespace

void note_exchange_order(const AccessesOf& accesses, const BarriersOf& exchanges, const llvm::LoopInfo& loops,
                         KernelModel& model) {
  if (exchanges.empty()) return;
  for (auto& [call, barrier] : exchanges)
    for (auto* instruction : made_of(*call, loops))
      if (auto load = accesses.find(instruction); load != accesses.end())
        for (size_t access : load->second)
          if (model.accesses[access].kind == KernelModel::Access::Kind::Load)
            model.accesses[access].exchanges.insert(barrier);
  for (auto& [store, indices] : accesses)
    for (size_t access : indices) {
      if (model.accesses[access].kind == KernelModel::Access::Kind::Load) continue;
      for (auto* instruction : made_of(*store, loops))
        if (auto call = exchanges.find(instruction); call != exchanges.end())
          model.accesses[access].exchanges.insert(call->second);
    }
}

}  // namespace kernelift
