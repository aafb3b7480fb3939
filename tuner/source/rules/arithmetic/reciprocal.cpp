// reciprocal: floating-point division by a loop-invariant divisor becomes multiplication by its reciprocal,
// `x * (1.0f / h)`, which the compiler computes once: a division costs as much as some ten multiplications. The same
// for repeated divisions by one divisor outside of loops, as unroll_and_jam leaves them. pow(x, 2) and pow(x, 3) become
// products. Rounding changes; verification decides whether that matters. Quotients that become integers are left alone:
// recorded inputs do not show the quotients that are just below or above a whole number.
#include <clang/AST/Expr.h>

#include <algorithm>
#include <map>

#include "tuner/source/rules/arithmetic/rounding.h"
#include "tuner/source/rules/rule.h"

namespace kernelift::tuner {
namespace {

bool is_plain_power(const KernelSource& source, const clang::CallExpr* call, int& exponent) {
  auto* callee = call->getDirectCallee();
  if (!callee || !callee->getIdentifier() || call->getNumArgs() != 2) return false;
  if (callee->getName() != "pow" && callee->getName() != "powf") return false;
  auto* power = call->getArg(1)->IgnoreParenImpCasts();
  if (power->isValueDependent()) return false;
  clang::Expr::EvalResult value;
  auto is = [&](int wanted) {
    if (auto* literal = llvm::dyn_cast<clang::FloatingLiteral>(power))
      return literal->getValueAsApproximateDouble() == wanted;
    return power->EvaluateAsInt(value, source.context()) && value.Val.getInt() == wanted;
  };
  if (!is(2) && !is(3)) return false;
  exponent = is(2) ? 2 : 3;
  // A product of integers would be an integer, which overflows.
  auto* base = call->getArg(0)->IgnoreParenImpCasts();
  return !base->isTypeDependent() && base->getType()->isRealFloatingType() && !source.spelled(base).empty() &&
         is_invariant(base, {});
}

/// The division is a reciprocal already, possibly by this rule.
bool divides_one(const clang::BinaryOperator* division) {
  auto* dividend = division->getLHS()->IgnoreParenImpCasts();
  if (auto* number = llvm::dyn_cast<clang::FloatingLiteral>(dividend))
    return number->getValueAsApproximateDouble() == 1;
  auto* integer = llvm::dyn_cast<clang::IntegerLiteral>(dividend);
  return integer && integer->getValue() == 1;
}

std::vector<Opportunity> find_reciprocal(const KernelSource& source, const RuleContext&, const Bindings&) {
  std::vector<Opportunity> found;
  for (auto* function : source.functions()) {
    Opportunity opportunity;
    opportunity.place = source.name(function);
    bool compares = false;
    auto convert = [&](const clang::BinaryOperator* division, const std::set<const clang::VarDecl*>& changed) {
      clang::QualType type = division->getType();
      auto* divisor = division->getRHS();
      if (type->isDependentType() || !type->isRealFloatingType() || divides_one(division) ||
          !is_invariant(divisor, changed))
        return;
      auto operation = source.offset(division->getOperatorLoc());
      auto range = source.span(divisor);
      RoundedUse then = use_of(source, division);
      if (!operation || !range || then == RoundedUse::Truncated) return;
      compares |= then == RoundedUse::Compared;
      bool single = source.context().hasSameType(type.getUnqualifiedType(), source.context().FloatTy);
      std::string one = single ? "1.0f" : "1.0";
      // The reciprocal of a denormal number may be infinite.
      if (divisor->IgnoreParenImpCasts()->getType()->isRealFloatingType())
        opportunity.premises = {{"no divisor is denormal"}};
      opportunity.edits.push_back({*operation, *operation + 1, "*"});
      opportunity.edits.push_back({range->begin, range->end, "(" + one + " / " + source.spelled(divisor) + ")"});
    };
    for (auto* loop : loops_in(function)) {
      if (std::any_of(opportunity.edits.begin(), opportunity.edits.end(), [&](auto& edit) {
            auto range = source.span(loop);
            return range && edit.begin >= range->begin && edit.end <= range->end;
          }))
        continue;  // Rewritten with an outer loop already.
      auto changed = changed_within(loop);
      walk(loop->getBody(), [&](const clang::Stmt* statement) {
        auto* binary = llvm::dyn_cast<clang::BinaryOperator>(statement);
        if (!binary || binary->getOpcode() != clang::BO_Div || !llvm::isa<clang::Expr>(statement)) return true;
        size_t before = opportunity.edits.size();
        convert(binary, changed);
        return opportunity.edits.size() == before;  // Nested divisions are left for the next application of the rule.
      });
    }
    auto ever = changed_within(function->getBody());
    std::map<std::string, std::vector<const clang::BinaryOperator*>> outside;  // By divisor.
    walk(function->getBody(), [&](const clang::Stmt* statement) {
      if (llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt>(statement)) return false;
      auto* binary = llvm::dyn_cast<clang::BinaryOperator>(statement);
      if (!binary || binary->getOpcode() != clang::BO_Div) return true;
      bool constant = !binary->getRHS()->isValueDependent() && binary->getRHS()->isEvaluatable(source.context());
      if (!constant && is_invariant(binary->getRHS(), ever))
        outside[squeezed(source.spelled(binary->getRHS()))].push_back(binary);
      return true;
    });
    for (auto& [divisor, divisions] : outside)
      if (divisions.size() > 1)
        for (auto* division : divisions) convert(division, ever);
    walk(function->getBody(), [&](const clang::Stmt* statement) {
      auto* call = llvm::dyn_cast<clang::CallExpr>(statement);
      int exponent = 0;
      if (!call || !is_plain_power(source, call, exponent)) return true;
      auto range = source.span(call);
      RoundedUse then = use_of(source, call);
      bool taken = !range || then == RoundedUse::Truncated ||
                   std::any_of(opportunity.edits.begin(), opportunity.edits.end(),
                               [&](auto& edit) { return edit.begin < range->end && edit.end > range->begin; });
      if (taken) return true;
      auto* base = call->getArg(0)->IgnoreParenImpCasts();
      std::string name = source.spelled(base);
      if (!named_variable(base)) name = "(" + name + ")";
      // pow of a float may be a double; the product must have the same type.
      if (!source.context().hasSameUnqualifiedType(base->getType(), call->getType()))
        name = "(" + call->getType().getUnqualifiedType().getAsString() + ")" + name;
      compares |= then == RoundedUse::Compared;
      opportunity.edits.push_back(
          {range->begin, range->end, "(" + name + " * " + name + (exponent == 3 ? " * " + name : "") + ")"});
      return false;
    });
    if (compares) opportunity.effects.push_back(kComparesRounded);
    if (!opportunity.edits.empty()) found.push_back(std::move(opportunity));
  }
  return found;
}

}  // namespace

const Rule kReciprocal = {"reciprocal",
                          "multiply by the reciprocal of a loop-invariant divisor; small integer powers as products",
                          "the divisor does not change in the loop, or is divided by more than once",
                          {},
                          find_reciprocal,
                          {Bound::Compute}};

}  // namespace kernelift::tuner
