// See loop_form.h.
#include "core/compiler/model/loop_form.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "core/compiler/model/position.h"

namespace kernelift {

bool header_says_all(llvm::Loop& loop, llvm::ScalarEvolution& evolution) {
  if (loop.getExitingBlock() != loop.getHeader()) return false;
  auto* branch = llvm::dyn_cast<llvm::BranchInst>(loop.getHeader()->getTerminator());
  auto* compare = branch && branch->isConditional() ? llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition()) : nullptr;
  if (!compare) return false;
  auto predicate = compare->getPredicate();
  if (!loop.contains(branch->getSuccessor(0))) predicate = llvm::CmpInst::getInversePredicate(predicate);
  auto* left = evolution.getSCEV(compare->getOperand(0));
  auto* right = evolution.getSCEV(compare->getOperand(1));
  if (!llvm::isa<llvm::SCEVAddRecExpr>(left)) {
    std::swap(left, right);
    predicate = llvm::CmpInst::getSwappedPredicate(predicate);
  }
  auto* recurrence = llvm::dyn_cast<llvm::SCEVAddRecExpr>(left);
  if (!recurrence || recurrence->getLoop() != &loop || !recurrence->isAffine()) return false;
  if (!evolution.isLoopInvariant(right, &loop)) return false;
  auto* step = recurrence->getStepRecurrence(evolution);
  const bool rises = llvm::ICmpInst::isLT(predicate) || llvm::ICmpInst::isLE(predicate);
  const bool falls = llvm::ICmpInst::isGT(predicate) || llvm::ICmpInst::isGE(predicate);
  if (auto* constant = llvm::dyn_cast<llvm::SCEVConstant>(step))
    return constant->getAPInt().isNegative() ? falls : rises && !constant->isZero();
  // A number of threads or blocks, or a product of them.
  auto positive = [&](const llvm::SCEV* factor) {
    while (auto* cast = llvm::dyn_cast<llvm::SCEVCastExpr>(factor)) factor = cast->getOperand();
    if (auto* constant = llvm::dyn_cast<llvm::SCEVConstant>(factor)) return constant->getAPInt().isStrictlyPositive();
    auto* value = llvm::dyn_cast<llvm::SCEVUnknown>(factor);
    auto* call = value ? llvm::dyn_cast<llvm::IntrinsicInst>(value->getValue()) : nullptr;
    auto where = call ? position(*call) : std::nullopt;
    return where && (where->as_variable()->starts_with("ntid.") || where->as_variable()->starts_with("nctaid."));
  };
  while (auto* cast = llvm::dyn_cast<llvm::SCEVCastExpr>(step)) step = cast->getOperand();
  auto* product = llvm::dyn_cast<llvm::SCEVMulExpr>(step);
  return rises && (product ? llvm::all_of(product->operands(), positive) : positive(step));
}

}  // namespace kernelift
