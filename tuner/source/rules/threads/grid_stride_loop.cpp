// See grid_stride_loop.h.
#include "tuner/source/rules/threads/grid_stride_loop.h"

#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>

#include <algorithm>

namespace kernelift::tuner {
namespace {

bool is_builtin(const clang::Expr* value, const char* name) {
  auto builtin = builtin_of(value->IgnoreParenCasts());
  return builtin && builtin->first == name && builtin->second == 'x';
}

/// blockDim.x * gridDim.x, or a variable that holds it.
bool is_grid_stride(const clang::Expr* value, const std::set<const clang::VarDecl*>& changed) {
  value = value->IgnoreParenCasts();
  if (auto* product = llvm::dyn_cast<clang::BinaryOperator>(value); product && product->getOpcode() == clang::BO_Mul)
    return (is_builtin(product->getLHS(), "blockDim") && is_builtin(product->getRHS(), "gridDim")) ||
           (is_builtin(product->getLHS(), "gridDim") && is_builtin(product->getRHS(), "blockDim"));
  auto* variable = named_variable(value);
  return variable && variable->hasLocalStorage() && variable->getInit() && !changed.contains(variable) &&
         is_grid_stride(variable->getInit(), changed);
}

}  // namespace

std::optional<GlobalIndex> grid_stride_loop(const KernelSource& source, const clang::FunctionDecl* kernel) {
  auto index = global_index(source, kernel, 0, true);
  auto* body = llvm::dyn_cast<clang::CompoundStmt>(kernel->getBody());
  if (!index || !body || index->block_only || width_of_index(source.spelled(index->value), 0) != "blockDim.x")
    return std::nullopt;
  const clang::ForStmt* loop = index->loop;
  std::set<const clang::VarDecl*> changed;
  for (auto* statement : body->body()) {
    auto* other = llvm::dyn_cast<clang::ForStmt>(statement);
    auto* declared = other ? llvm::dyn_cast_or_null<clang::DeclStmt>(other->getInit()) : nullptr;
    auto* counter =
        declared && declared->isSingleDecl() ? llvm::dyn_cast<clang::VarDecl>(declared->getSingleDecl()) : nullptr;
    if (!loop && index->declared && counter && counter->getInit() &&
        named_variable(counter->getInit()) == index->variable)
      loop = other;
    if (!llvm::isa<clang::DeclStmt>(statement)) changed.merge(changed_within(statement));
  }
  auto* declared = loop ? llvm::dyn_cast_or_null<clang::DeclStmt>(loop->getInit()) : nullptr;
  auto* step = loop ? llvm::dyn_cast_or_null<clang::CompoundAssignOperator>(loop->getInc()) : nullptr;
  if (!declared || !declared->isSingleDecl() || !step || step->getOpcode() != clang::BO_AddAssign) return std::nullopt;
  auto* counter = llvm::cast<clang::VarDecl>(declared->getSingleDecl());
  bool apart = named_variable(step->getLHS()) == counter && is_grid_stride(step->getRHS(), changed) &&
               !changed_within(loop->getBody()).contains(counter);
  for (auto* statement : body->body()) apart &= statement == loop || !accesses_memory({statement});
  walk(loop->getBody(), [&](const clang::Stmt* inner) {
    auto builtin = builtin_of(inner);
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner);
    apart &= !(builtin && builtin->first != "blockDim" && builtin->first != "gridDim") &&
             !(counter != index->variable && reference && reference->getDecl() == index->variable);
    return apart && !builtin;
  });
  if (!apart) return std::nullopt;
  GlobalIndex found;
  found.statement = loop, found.loop = loop, found.variable = counter, found.value = counter->getInit();
  found.declared = true;
  return found;
}

}  // namespace kernelift::tuner
