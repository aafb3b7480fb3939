// See loop_range.h.
#include "tuner/source/rules/loop_range.h"

#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>

#include "tuner/source/rules/rule.h"

namespace kernelift::tuner {

std::optional<LoopRange> LoopRange::of(const clang::ForStmt* loop) {
  LoopRange range;
  range.condition = llvm::dyn_cast_or_null<clang::BinaryOperator>(loop->getCond());
  if (!range.condition || !range.condition->isComparisonOp()) return std::nullopt;
  if (auto* declared = llvm::dyn_cast_or_null<clang::DeclStmt>(loop->getInit()); declared && declared->isSingleDecl()) {
    range.counter = llvm::dyn_cast<clang::VarDecl>(declared->getSingleDecl());
    range.first = range.counter ? range.counter->getInit() : nullptr;
  } else if (auto* set = llvm::dyn_cast_or_null<clang::BinaryOperator>(loop->getInit());
             set && set->getOpcode() == clang::BO_Assign) {
    range.counter = named_variable(set->getLHS()), range.first = set->getRHS();
  }
  return (range.counter && range.first) || !loop->getInit() ? std::optional(range) : std::nullopt;
}

bool surely_iterates(const KernelSource& source, const LoopRange& range) {
  if (!range.counter || range.condition->getOpcode() != clang::BO_LT ||
      named_variable(range.condition->getLHS()) != range.counter)
    return false;
  clang::Expr::EvalResult first, end;
  auto known = [&](const clang::Expr* value, clang::Expr::EvalResult& result) {
    return !value->isValueDependent() && value->EvaluateAsInt(result, source.context());
  };
  return known(range.first, first) && known(range.condition->getRHS(), end) &&
         first.Val.getInt().getExtValue() < end.Val.getInt().getExtValue();
}

std::string has_iterations(const KernelSource& source, const clang::ForStmt* loop) {
  auto range = LoopRange::of(loop);
  if (!range) return {};
  bool pure = true;
  auto look = [&](const clang::Expr* expression) {
    walk(expression, [&](const clang::Stmt* inner) {
      auto* unary = llvm::dyn_cast<clang::UnaryOperator>(inner);
      return pure &= !assigned_by(inner) && !llvm::isa<clang::CallExpr, clang::LambdaExpr>(inner) &&
                     !(unary && unary->isIncrementDecrementOp());
    });
  };
  look(range->condition);
  if (range->first) look(range->first);
  auto whole = source.span(range->condition);
  std::string first = range->first ? source.spelled(range->first) : "";
  if (!pure || !whole || (range->first && first.empty())) return {};
  // The counter's type decides the comparison: `unsigned k = -1` is a large number.
  std::string as;
  if (range->first) {
    clang::QualType type = range->counter->getType().getUnqualifiedType(),
                    given = range->first->IgnoreImpCasts()->getType();
    if (type->isDependentType() || given->isDependentType() || source.is_generic(range->counter)) return {};
    if (!source.context().hasSameUnqualifiedType(type, given))
      as = "(" + type.getAsString(source.context().getPrintingPolicy()) + ")";
  }
  std::vector<TextEdit> edits;
  walk(range->condition, [&](const clang::Stmt* inner) {
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner);
    auto at =
        reference && range->counter && reference->getDecl() == range->counter ? source.span(reference) : std::nullopt;
    if (!at) return true;
    const bool plain =
        llvm::isa<clang::DeclRefExpr, clang::IntegerLiteral, clang::ArraySubscriptExpr, clang::MemberExpr>(
            range->first->IgnoreImpCasts());
    edits.push_back({at->begin - whole->begin, at->end - whole->begin, as + (plain ? first : "(" + first + ")")});
    return true;
  });
  return apply_edits(source.text().substr(whole->begin, whole->end - whole->begin), edits).value_or("");
}

}  // namespace kernelift::tuner
