// modulo_to_compare: `(x + 1) % n` is an integer division of some twenty instructions, and in stencils with periodic
// boundaries it changes the index of few threads. A comparison suffices for numbers in [0, 2n):
//   (unsigned)(x + 1) < (unsigned)n ? x + 1 : (unsigned)(x + 1) - (unsigned)n < (unsigned)n ? x + 1 - n : (x + 1) % n
// All other numbers are still divided, so the value is the same for every x and every n > 0; whether a signed n is that
// is asked, as it may be a number that no launch passes.
#include <clang/AST/Expr.h>

#include <algorithm>

#include "core/base/words.h"
#include "tuner/source/rules/rule.h"
#include "tuner/source/rules/spelled_type.h"

namespace kernelift::tuner {
namespace {

/// `x < n ? x : x % n`, as this rule or the application's author wrote it.
bool compares_before_dividing(const clang::Stmt* statement) {
  auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(statement);
  auto* rest = choice ? llvm::dyn_cast<clang::BinaryOperator>(choice->getFalseExpr()->IgnoreParenImpCasts()) : nullptr;
  return rest && rest->getOpcode() == clang::BO_Rem;
}

/// Sums are likely to be at most one period out of range. For other numbers the comparisons would seldom succeed.
bool is_sum(const clang::Expr* expression) {
  auto* binary = llvm::dyn_cast<clang::BinaryOperator>(expression->IgnoreParenImpCasts());
  return binary && binary->isAdditiveOp();
}

std::vector<Opportunity> find_modulo_to_compare(const KernelSource& source, const RuleContext&, const Bindings&) {
  std::vector<Opportunity> found;
  auto& context = source.context();
  for (auto* function : source.functions()) {
    Opportunity opportunity;
    opportunity.place = source.name(function);
    walk(function->getBody(), [&](const clang::Stmt* statement) {
      if (compares_before_dividing(statement)) return false;
      auto* binary = llvm::dyn_cast<clang::BinaryOperator>(statement);
      if (!binary || binary->getOpcode() != clang::BO_Rem) return true;
      auto *number = binary->getLHS(), *modulus = binary->getRHS();
      clang::QualType type = binary->getType();
      if (type->isDependentType() || !type->isIntegerType() || modulus->isValueDependent() ||
          modulus->isEvaluatable(context))
        return true;
      std::string text = source.spelled(number->IgnoreParens()), by = source.spelled(modulus->IgnoreParens());
      auto range = source.span(binary);
      if (!range || text.empty() || by.empty() || !is_sum(number) || !is_invariant(number, {}) ||
          !is_invariant(modulus, {}))
        return true;
      // An alias of the program may be a wider type in another build.
      std::string whole = context.getTypeSize(type) > 32 || !only_plain_integers(source, binary)
                              ? "(unsigned long long)"
                              : "(unsigned)";
      auto operand = [](const std::string& one) {
        return std::ranges::all_of(one, word_character) ? one : "(" + one + ")";
      };
      const std::string number_text = "(" + text + ")", divisor = operand(by), limit = whole + divisor,
                        above = modulus->getType()->isUnsignedIntegerType() ? "" : divisor + " > 0 && ";
      opportunity.edits.push_back({range->begin, range->end,
                                   "(" + above + whole + number_text + " < " + limit + " ? " + number_text + " : " +
                                       above + whole + number_text + " - " + limit + " < " + limit + " ? (" +
                                       number_text + " - " + divisor + ") : " + number_text + " % " + divisor + ")"});
      return false;
    });
    if (!opportunity.edits.empty()) found.push_back(std::move(opportunity));
  }
  return found;
}

}  // namespace

const Rule kModuloToCompare = {"modulo_to_compare",
                               "wrap around by comparison, and divide only where that does not suffice",
                               "a remainder of a sum without side effects, by a divisor that is not constant",
                               {},
                               find_modulo_to_compare,
                               {Bound::Compute, Bound::Latency}};

}  // namespace kernelift::tuner
