// See loop_form.h.
#include "core/compiler/model/loop_form.h"

#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>

#include "core/compiler/model/position.h"

namespace kernelift {
namespace {

/// The counter is on one side of its bound until it passes it.
bool holds_until_it_fails(const llvm::ICmpInst& compare, bool wanted, llvm::Loop& loop,
                          llvm::ScalarEvolution& evolution, const NotNegative& not_negative) {
  auto predicate = wanted ? compare.getPredicate() : compare.getInversePredicate();
  auto* left = evolution.getSCEV(compare.getOperand(0));
  auto* right = evolution.getSCEV(compare.getOperand(1));
  if (!llvm::isa<llvm::SCEVAddRecExpr>(left)) {
    std::swap(left, right);
    predicate = llvm::CmpInst::getSwappedPredicate(predicate);
  }
  auto* recurrence = llvm::dyn_cast<llvm::SCEVAddRecExpr>(left);
  if (!recurrence || recurrence->getLoop() != &loop || !recurrence->isAffine()) return false;
  if (!evolution.isLoopInvariant(right, &loop)) return false;
  auto* step = recurrence->getStepRecurrence(evolution);
  // Negative numbers are the largest ones of a test of unsigned ones: there a counter may be past its bound and come
  // back.
  const bool falling = llvm::ICmpInst::isGT(predicate) || llvm::ICmpInst::isGE(predicate);
  if (llvm::ICmpInst::isUnsigned(predicate) && (falling || !not_negative(recurrence->getStart()))) return false;
  const bool rises = llvm::ICmpInst::isLT(predicate) || llvm::ICmpInst::isLE(predicate);
  if (auto* constant = llvm::dyn_cast<llvm::SCEVConstant>(step))
    return constant->getAPInt().isNegative() ? falling : rises && !constant->isZero();
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

/// So does the condition if it is `wanted`, of all comparisons that it is made of.
bool holds_until_it_fails(llvm::Value* condition, bool wanted, llvm::Loop& loop, llvm::ScalarEvolution& evolution,
                          const NotNegative& not_negative) {
  if (auto* compare = llvm::dyn_cast<llvm::ICmpInst>(condition))
    return holds_until_it_fails(*compare, wanted, loop, evolution, not_negative);
  using namespace llvm::PatternMatch;
  llvm::Value *a = nullptr, *b = nullptr;
  const bool all = wanted ? match(condition, m_LogicalAnd(m_Value(a), m_Value(b)))
                          : match(condition, m_LogicalOr(m_Value(a), m_Value(b)));
  return all && holds_until_it_fails(a, wanted, loop, evolution, not_negative) &&
         holds_until_it_fails(b, wanted, loop, evolution, not_negative);
}

}  // namespace

std::optional<llvm::SmallVector<llvm::BasicBlock*>> tests_that_say_all(llvm::Loop& loop,
                                                                       llvm::ScalarEvolution& evolution,
                                                                       const llvm::DominatorTree& dominators,
                                                                       const NotNegative& not_negative) {
  llvm::SmallVector<llvm::BasicBlock*> exiting;
  loop.getExitingBlocks(exiting);
  auto* latch = loop.getLoopLatch();
  if (exiting.empty() || !latch) return std::nullopt;
  for (auto* block : exiting) {
    if (llvm::any_of(loop.getSubLoops(), [&](auto* inner) { return inner->contains(block); })) return std::nullopt;
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
    if (!branch || !branch->isConditional() || !dominators.dominates(block, latch)) return std::nullopt;
    if (!holds_until_it_fails(branch->getCondition(), loop.contains(branch->getSuccessor(0)), loop, evolution,
                              not_negative))
      return std::nullopt;
  }
  return exiting;
}

}  // namespace kernelift
