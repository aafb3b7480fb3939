// pad_shared: adds columns to a two-dimensional __shared__ tile, so that a warp that reads a column accesses different
// banks. Tiles whose rows may have to be contiguous are left alone: those that are passed to a function, and those
// whose last index is not known to stay inside its row.
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <clang/AST/TypeLoc.h>

#include "tuner/source/rules/rule.h"

namespace kernelift::tuner {
namespace {

/// A tile's last extent.
struct Extent {
  std::optional<int64_t> value;  ///< nullopt: not constant in this text.
  std::string text;              ///< As it is spelled, without blanks.
};

std::optional<int64_t> value_of(const KernelSource& source, const clang::Expr* expression) {
  clang::Expr::EvalResult value;
  if (expression->isValueDependent() || expression->isTypeDependent() ||
      !expression->EvaluateAsInt(value, source.context()))
    return std::nullopt;
  return value.Val.getInt().getExtValue();
}

/// Whether `limit` is at most the extent.
bool is_within(const KernelSource& source, const clang::Expr* limit, const Extent& extent) {
  auto value = value_of(source, limit);
  return value && extent.value
             ? *value <= *extent.value
             : !extent.text.empty() && squeezed(source.spelled(limit->IgnoreParenImpCasts())) == extent.text;
}

/// LIMIT, if the name is the counter of an enclosing loop with the condition `name < LIMIT`; else nullptr.
const clang::Expr* limit_of(const KernelSource& source, const clang::DeclRefExpr* name) {
  for (const clang::Stmt* up = source.parent(name); up; up = source.parent(up)) {
    auto* loop = llvm::dyn_cast<clang::ForStmt>(up);
    auto* condition = loop ? llvm::dyn_cast_or_null<clang::BinaryOperator>(loop->getCond()) : nullptr;
    if (condition && condition->getOpcode() == clang::BO_LT && named_variable(condition->getLHS()) == name->getDecl())
      return condition->getRHS();
  }
  return nullptr;
}

/// Whether the index stays inside a row, by its text: a thread index, a loop counter below the extent, sums of these;
/// not an index over several rows, such as `y * WIDTH + x`.
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

/// Whether every use is an element tile[…][…] whose last index stays inside its row, so that rows need not be
/// contiguous.
bool is_used_by_rows(const KernelSource& source, const clang::FunctionDecl* function, const clang::VarDecl* tile,
                     int dimensions, const Extent& extent) {
  std::set<const clang::VarDecl*> assigned;  // Other than by their declarations.
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

std::vector<Opportunity> find_pad_shared(const KernelSource& source, const RuleContext&, const Bindings& values) {
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
        opportunity.place = "tile " + tile->getNameAsString() + " of " + source.name(function);
        // An extent such as "1 << 5" needs parentheses.
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
    find_pad_shared,
    {Bound::Memory}};

}  // namespace kernelift::tuner
