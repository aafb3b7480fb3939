// See sum_strands.h. Partial sums s0 … s7 stand in a ring: a pass adds to s0, then they move up by one place.
#include "sandbox/compile/service/sum_strands.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <set>

namespace kernelift {
namespace {

constexpr int kStrands = 8;

/// The operand of `user` through which a sum is passed on, plus or minus other things, or null.
llvm::Value* passed_on(llvm::Instruction* user, llvm::Value* sum) {
  llvm::Value* through = nullptr;
  if (user->getOpcode() == llvm::Instruction::FAdd) through = user->getOperand(user->getOperand(0) == sum ? 0 : 1);
  if (user->getOpcode() == llvm::Instruction::FSub) through = user->getOperand(0);
  if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(user)) {
    switch (call->getIntrinsicID()) {
      case llvm::Intrinsic::fma:
      case llvm::Intrinsic::fmuladd:
      case llvm::Intrinsic::nvvm_fma_rn_f:
      case llvm::Intrinsic::nvvm_fma_rn_ftz_f:
      case llvm::Intrinsic::nvvm_fma_rn_d: through = call->getArgOperand(2); break;
      default: break;
    }
  }
  if (!through || std::count(user->operands().begin(), user->operands().end(), sum) != 1) return nullptr;
  return through;
}

/// All values that hold the sum in the course of a pass; empty if anything but a sum is made of `phi`.
std::set<llvm::Value*> holders_of(llvm::PHINode& phi, llvm::Loop& loop) {
  std::set<llvm::Value*> holders{&phi};
  std::vector<llvm::Value*> fresh{&phi};
  while (!fresh.empty()) {
    llvm::Value* sum = fresh.back();
    fresh.pop_back();
    for (llvm::User* user : sum->users()) {
      auto* instruction = llvm::cast<llvm::Instruction>(user);
      if (!loop.contains(instruction) || holders.contains(instruction)) continue;
      bool carries = llvm::isa<llvm::PHINode>(instruction) ||
                     (llvm::isa<llvm::SelectInst>(instruction) && instruction->getOperand(0) != sum) ||
                     passed_on(instruction, sum) == sum;
      if (!carries) return {};
      holders.insert(instruction), fresh.push_back(instruction);
    }
  }
  // What is chosen from must be the sum on every side, and nothing may be added to itself.
  auto holds = [&](llvm::Value* value) { return holders.contains(value); };
  for (llvm::Value* value : holders) {
    auto* instruction = llvm::cast<llvm::Instruction>(value);
    if (value == &phi) continue;
    if (auto* choice = llvm::dyn_cast<llvm::PHINode>(instruction)) {
      if (!std::all_of(choice->incoming_values().begin(), choice->incoming_values().end(), holds)) return {};
    } else if (llvm::isa<llvm::SelectInst>(instruction)) {
      if (!holds(instruction->getOperand(1)) || !holds(instruction->getOperand(2)) || holds(instruction->getOperand(0)))
        return {};
    } else if (std::count_if(instruction->operands().begin(), instruction->operands().end(), holds) != 1) {
      return {};
    }
  }
  return holders;
}

/// What held the sum; empty where `phi`, at the head of `loop`, is none.
std::set<llvm::Value*> split(llvm::PHINode& phi, llvm::Loop& loop) {
  llvm::BasicBlock *latch = loop.getLoopLatch(), *before = loop.getLoopPredecessor();
  if (!latch || !before || phi.getNumIncomingValues() != 2 || !phi.getType()->isFPOrFPVectorTy()) return {};
  std::set<llvm::Value*> holders = holders_of(phi, loop);
  llvm::Value* next = phi.getIncomingValueForBlock(latch);
  if (next == &phi || !holders.contains(next)) return {};

  std::vector<llvm::PHINode*> others;
  for (int s = 1; s < kStrands; ++s)
    others.push_back(llvm::PHINode::Create(phi.getType(), 2, phi.getName() + ".strand", phi.getIterator()));
  phi.setIncomingValueForBlock(latch, others.front());
  for (size_t s = 0; s < others.size(); ++s) {
    others[s]->addIncoming(llvm::ConstantFP::getNegativeZero(phi.getType()), before);
    others[s]->addIncoming(s + 1 < others.size() ? others[s + 1] : next, latch);
  }
  for (llvm::Value* holder : holders) {
    std::vector<llvm::Use*> outside;
    for (llvm::Use& use : holder->uses())
      if (!loop.contains(llvm::cast<llvm::Instruction>(use.getUser()))) outside.push_back(&use);
    if (outside.empty()) continue;
    auto* place = llvm::cast<llvm::Instruction>(holder);
    auto at =
        llvm::isa<llvm::PHINode>(place) ? place->getParent()->getFirstInsertionPt() : std::next(place->getIterator());
    llvm::Value* whole = holder;
    for (llvm::PHINode* other : others)
      whole = llvm::BinaryOperator::Create(llvm::Instruction::FAdd, whole, other, phi.getName() + ".whole", at);
    for (llvm::Use* use : outside) use->set(whole);
  }
  return holders;
}

}  // namespace

int split_sums(llvm::Function& function, Strands strands) {
  if (function.isDeclaration() || strands == Strands::None) return 0;
  llvm::DominatorTree dominators(function);
  llvm::LoopInfo loops(dominators);
  int count = 0;
  std::set<llvm::Value*> taken;  // The inner loops' part of a sum that was taken apart as a whole.
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (strands == Strands::Innermost && !loop->isInnermost()) continue;
    std::vector<llvm::PHINode*> phis;
    for (llvm::PHINode& phi : loop->getHeader()->phis()) phis.push_back(&phi);
    for (llvm::PHINode* phi : phis) {
      if (taken.contains(phi)) continue;
      std::set<llvm::Value*> holders = split(*phi, *loop);
      count += !holders.empty();
      taken.merge(holders);
    }
  }
  return count;
}

}  // namespace kernelift
