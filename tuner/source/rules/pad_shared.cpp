// pad_shared: one more column in a two-dimensional __shared__ tile, so that a warp that walks down a column meets
// different banks.
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <clang/AST/TypeLoc.h>

#include "tuner/source/rules/rule.h"

namespace kernelift {
namespace {

/// Every use is tile[…][…]: nobody counts on rows being adjacent.
bool always_subscripted(const KernelSource& source, const clang::FunctionDecl* function, const clang::VarDecl* tile) {
  bool always = true;
  walk(function->getBody(), [&](const clang::Stmt* statement) {
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
    if (!reference || reference->getDecl() != tile) return true;
    const clang::Stmt* up = reference;
    int subscripts = 0;
    while ((up = source.parent(up)) && llvm::isa<clang::ImplicitCastExpr, clang::ParenExpr, clang::ArraySubscriptExpr>(up))
      subscripts += llvm::isa<clang::ArraySubscriptExpr>(up);
    auto* address = llvm::dyn_cast_or_null<clang::UnaryOperator>(up);
    always &= subscripts >= 2 && !(address && address->getOpcode() == clang::UO_AddrOf);
    return true;
  });
  return always;
}

std::vector<Opportunity> find(const KernelSource& source, const RuleContext&, const Bindings& values) {
  std::vector<Opportunity> found;
  if (has_dynamic_shared(source)) return found;
  for (auto* function : source.functions())
    walk(function->getBody(), [&](const clang::Stmt* statement) {
      auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement);
      if (!declaration) return true;
      for (auto* declared : declaration->decls()) {
        auto* tile = llvm::dyn_cast<clang::VarDecl>(declared);
        if (!tile || !tile->hasAttr<clang::CUDASharedAttr>() || !tile->getTypeSourceInfo()) continue;
        clang::ArrayTypeLoc last;
        int dimensions = 0;
        for (auto location = tile->getTypeSourceInfo()->getTypeLoc(); auto array = location.getAs<clang::ArrayTypeLoc>();
             location = array.getElementLoc())
          last = array, ++dimensions;
        auto bracket = dimensions >= 2 ? source.offset(last.getRBracketLoc()) : std::nullopt;
        if (!bracket || !last.getSizeExpr() || !always_subscripted(source, function, tile)) continue;
        Opportunity opportunity;
        opportunity.place = "tile " + tile->getNameAsString() + " of " + function->getNameAsString();
        // "1 << 5" and the like want brackets of their own.
        auto size = source.span(last.getSizeExpr());
        bool whole = llvm::isa<clang::IntegerLiteral, clang::DeclRefExpr, clang::ParenExpr>(last.getSizeExpr()->IgnoreImpCasts());
        if (!size) continue;
        if (!whole) opportunity.edits.push_back({size->begin, size->begin, "("});
        opportunity.edits.push_back({*bracket, *bracket, (whole ? " + " : ") + ") + std::to_string(values.at("pad"))});
        found.push_back(std::move(opportunity));
      }
      return true;
    });
  return found;
}

}  // namespace

const Rule kPadShared = {"pad_shared", "pad a shared-memory tile's rows against bank conflicts",
                         "a __shared__ array of two or more dimensions that is only ever used by subscripts", {{"pad", {1, 2}}}, find, {Bound::Memory}};

}  // namespace kernelift
