// See tile_dependence.h.
#include "tuner/source/rules/tiling/tile_dependence.h"

#include <clang/AST/Expr.h>

namespace kernelift::tuner {

void TileDependence::note_changes(const clang::Stmt* kernel_body) { changed_ = changed_after_declaration(kernel_body); }

TileAxes TileDependence::of_variable(const clang::VarDecl* variable) const {
  if (variable == row_) return kTileRow;
  if (variable == column_) return kTileColumn;
  if (variable == step_) return kTileStep;
  if (changed_.contains(variable)) return kTileRow | kTileColumn | kTileStep;
  if (!variable->hasLocalStorage() || llvm::isa<clang::ParmVarDecl>(variable)) return 0;
  return variable->getInit() ? of(variable->getInit()) : kTileRow | kTileColumn | kTileStep;
}

TileAxes TileDependence::of(const clang::Stmt* statement) const {
  TileAxes axes = 0;
  for (auto* variable : variables_in(statement)) axes |= of_variable(variable);
  return axes;
}

bool TileDependence::is_term(const clang::Expr* sum, const clang::VarDecl* index) const {
  sum = sum->IgnoreParenCasts();
  if (auto* binary = llvm::dyn_cast<clang::BinaryOperator>(sum)) {
    if (binary->getOpcode() == clang::BO_Sub) return is_term(binary->getLHS(), index);
    return binary->getOpcode() == clang::BO_Add &&
           (is_term(binary->getLHS(), index) || is_term(binary->getRHS(), index));
  }
  auto* variable = named_variable(sum);
  if (!variable || variable == index) return variable == index;
  return variable->hasLocalStorage() && !llvm::isa<clang::ParmVarDecl>(variable) && !changed_.contains(variable) &&
         variable != row_ && variable != column_ && variable->getInit() && is_term(variable->getInit(), index);
}

bool TileDependence::is_adjacent(const clang::Expr* element, const clang::VarDecl* index) const {
  auto* subscript = llvm::dyn_cast<clang::ArraySubscriptExpr>(element);
  if (!subscript) return false;
  return is_term(subscript->getIdx(), index) ||
         (!llvm::isa<clang::ArraySubscriptExpr>(subscript->getBase()->IgnoreParenImpCasts()) &&
          is_term(subscript->getBase(), index));
}

const clang::ArraySubscriptExpr* read_through_cache(const clang::Stmt* statement) {
  auto* call = llvm::dyn_cast<clang::CallExpr>(statement);
  auto* callee = call ? call->getDirectCallee() : nullptr;
  if (!callee || !callee->getIdentifier() || callee->getName() != "__ldg" || call->getNumArgs() != 1) return nullptr;
  auto* address = llvm::dyn_cast<clang::UnaryOperator>(call->getArg(0)->IgnoreParenImpCasts());
  return address && address->getOpcode() == clang::UO_AddrOf
             ? llvm::dyn_cast<clang::ArraySubscriptExpr>(address->getSubExpr()->IgnoreParens())
             : nullptr;
}

const clang::ArraySubscriptExpr* scaled_load(const KernelSource& source, const TileDependence& depends,
                                             const clang::Stmt* statement) {
  auto* product = llvm::dyn_cast<clang::BinaryOperator>(statement);
  if (!product || product->getOpcode() != clang::BO_Mul || product->getType()->isDependentType() ||
      source.spelled(product).empty())
    return nullptr;
  for (auto [factor, other] :
       {std::pair(product->getLHS(), product->getRHS()), {product->getRHS(), product->getLHS()}}) {
    const clang::Expr* value = other->IgnoreParenImpCasts();
    auto* load = read_through_cache(value);
    if (!load) load = llvm::dyn_cast<clang::ArraySubscriptExpr>(value);
    auto* scale = named_variable(factor);
    const TileAxes axes = load ? depends.of(load) : 0;
    if (load && scale && llvm::isa<clang::DeclRefExpr>(factor->IgnoreParenImpCasts()) && (axes & kTileStep) &&
        !depends.of(factor) && !depends.changes(scale) && scale->getType()->isArithmeticType() &&
        !scale->getType().isVolatileQualified() &&
        source.context().hasSameUnqualifiedType(product->getType(), load->getType()))
      return load;
  }
  return nullptr;
}

}  // namespace kernelift::tuner
