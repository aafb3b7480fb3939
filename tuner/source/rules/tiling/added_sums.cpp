// See added_sums.h.
#include "tuner/source/rules/tiling/added_sums.h"

#include <clang/AST/Expr.h>

#include <algorithm>

#include "tuner/source/rules/threads/lane_loops.h"

namespace kernelift::tuner {

bool only_adds(const KernelSource& source, const clang::Stmt* body, const std::vector<TileSum>& sums) {
  auto is_sum = [&](const clang::VarDecl* variable) {
    return variable && std::ranges::find(sums, variable, &TileSum::variable) != sums.end();
  };
  auto is_integer = [](const clang::Expr* value) { return value->IgnoreParenImpCasts()->getType()->isIntegerType(); };
  size_t mentions = 0, additions = 0;
  walk(body, [&](const clang::Stmt* statement) {
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
    mentions += reference && is_sum(llvm::dyn_cast<clang::VarDecl>(reference->getDecl()));
    auto* set = llvm::dyn_cast<clang::BinaryOperator>(statement);
    auto* target = set && set->isAssignmentOp() ? set->getLHS()->IgnoreParens() : nullptr;
    auto* element = llvm::dyn_cast_or_null<clang::ArraySubscriptExpr>(target);
    if (!target || !is_sum(named_variable(element ? element->getBase() : target)) ||
        target->getType()->isBooleanType() || (is_integer(target) && !is_integer(set->getRHS())))
      return true;
    additions += mentions_of_sum(source, set);
    return true;
  });
  return mentions == additions;
}

}  // namespace kernelift::tuner
