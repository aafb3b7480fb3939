// pad_shared: one more column in a two-dimensional __shared__ tile, so that a warp that walks down a column meets
// different banks. Not where the text may count on rows lying one behind the other: a tile that is handed over, or
// whose last index is not seen to stay in its row.
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <clang/AST/TypeLoc.h>

#include "tuner/source/rules/rule.h"

namespace kernelift {
namespace {

/// A tile's last extent, by value where that is known in the text, and as it is spelled.
struct Extent {
  std::optional<int64_t> value;
  std::string text;
};

std::optional<int64_t> value_of(const KernelSource& source, const clang::Expr* expression) {
  clang::Expr::EvalResult value;
  if (expression->isValueDependent() || expression->isTypeDependent() ||
      !expression->EvaluateAsInt(value, source.context()))
    return std::nullopt;
  return value.Val.getInt().getExtValue();
}

/// `limit` is the extent, or less.
bool is_within(const KernelSource& source, const clang::Expr* limit, const Extent& extent) {
  auto value = value_of(source, limit);
  return value && extent.value
             ? *value <= *extent.value
             : !extent.text.empty() && squeezed(source.spelled(limit->IgnoreParenImpCasts())) == extent.text;
}

/// The loop around the name whose condition asks of it, if it is `name < LIMIT`: LIMIT; or nullptr.
const clang::Expr* limit_of(const KernelSource& source, const clang::DeclRefExpr* name) {
  for (const clang::Stmt* up = source.parent(name); up; up = source.parent(up)) {
    auto* loop = llvm::dyn_cast<clang::ForStmt>(up);
    auto* asks = loop ? llvm::dyn_cast_or_null<clang::BinaryOperator>(loop->getCond()) : nullptr;
    if (asks && asks->getOpcode() == clang::BO_LT && named_variable(asks->getLHS()) == name->getDecl())
      return asks->getRHS();
  }
  return nullptr;
}

/// An index that runs over a row, as far as its words show: a thread's place, a loop's counter up to the extent, sums
/// of those; not one over several rows, such as `y * WIDTH + x`.
bool stays_in_row(const KernelSource& source, const clang::Expr* index, const Extent& extent,
                  const std::set<const clang::VarDecl*>& assigned) {
  index = index->IgnoreParenCasts();
  auto below = [&](const clang::Expr* part) { return stays_in_row(source, part, extent, assigned); };
  if (auto value = value_of(source, index)) return !extent.value || *value < *extent.value;
  if (llvm::isa<clang::PseudoObjectExpr>(index)) return source.spelled(index).starts_with("threadIdx");
  if (auto* binary = llvm::dyn_cast<clang::BinaryOperator>(index)) {
    if (binary->isAdditiveOp()) return below(binary->getLHS()) && below(binary->getRHS());
    if (binary->getOpcode() == clang::BO_Rem) return is_within(source, binary->getRHS(), extent);
    return binary->getOpcode() == clang::BO_Div && below(binary->getLHS());
  }
  auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(index);
  auto* variable = reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
  if (!variable || !variable->hasLocalStorage()) return false;
  if (auto* limit = limit_of(source, reference)) return is_within(source, limit, extent);
  return variable->getInit() && !assigned.contains(variable) && below(variable->getInit());
}

/// Every use is an element, tile[…][…], of the row that it says: nobody counts on rows being adjacent.
bool is_used_by_rows(const KernelSource& source, const clang::FunctionDecl* function, const clang::VarDecl* tile,
                     int dimensions, const Extent& extent) {
  std::set<const clang::VarDecl*> assigned;  // A declaration alone is no change.
  walk(function->getBody(), [&](const clang::Stmt* statement) {
    if (llvm::isa<clang::BinaryOperator, clang::UnaryOperator, clang::CallExpr>(statement))
      assigned.merge(changed_within(statement));
    return true;
  });
  bool by_rows = true;
  walk(function->getBody(), [&](const clang::Stmt* statement) {
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
    if (!reference || reference->getDecl() != tile) return true;
    const clang::Stmt* up = reference;
    const clang::Expr* last = nullptr;
    int subscripts = 0;
    for (const clang::Stmt* below = up;
         (up = source.parent(up)) &&
         llvm::isa<clang::ImplicitCastExpr, clang::ParenExpr, clang::ArraySubscriptExpr>(up);
         below = up) {
      auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(up);
      if (!element || subscripts == dimensions) continue;
      if (element->getBase() != below) return by_rows = false;  // `1[tile]`
      last = element->getIdx(), ++subscripts;
    }
    auto* address = llvm::dyn_cast_or_null<clang::UnaryOperator>(up);
    by_rows &= subscripts == dimensions && !(address && address->getOpcode() == clang::UO_AddrOf) &&
               stays_in_row(source, last, extent, assigned);
    return by_rows;
  });
  return by_rows;
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
        for (auto location = tile->getTypeSourceInfo()->getTypeLoc();
             auto array = location.getAs<clang::ArrayTypeLoc>(); location = array.getElementLoc())
          last = array, ++dimensions;
        auto bracket = dimensions >= 2 ? source.offset(last.getRBracketLoc()) : std::nullopt;
        if (!bracket || !last.getSizeExpr()) continue;
        const Extent extent{value_of(source, last.getSizeExpr()),
                            squeezed(source.spelled(last.getSizeExpr()->IgnoreParenImpCasts()))};
        if (!is_used_by_rows(source, function, tile, dimensions, extent)) continue;
        Opportunity opportunity;
        opportunity.place = "tile " + tile->getNameAsString() + " of " + function->getNameAsString();
        // "1 << 5" and the like want brackets of their own.
        auto size = source.span(last.getSizeExpr());
        bool whole = llvm::isa<clang::IntegerLiteral, clang::DeclRefExpr, clang::ParenExpr>(
            last.getSizeExpr()->IgnoreImpCasts());
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

const Rule kPadShared = {
    "pad_shared",
    "pad a shared-memory tile's rows against bank conflicts",
    "a __shared__ array of two or more dimensions that is only ever used by subscripts, the last within its row",
    {{"pad", {1, 2}}},
    find,
    {Bound::Memory}};

}  // namespace kernelift
