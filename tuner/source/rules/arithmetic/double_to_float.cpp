// double_to_float: local `double` variables become `float` in kernels whose data is float. A GPU computes doubles at a
// fraction of the rate of floats; where doubles are needed, verification refuses the candidate. Not rewritten: kernels
// whose data has an alias or macro as type, which may be double in another build; kernels with literals outside of
// float's range, which show that the range of double is needed; and values that become integers, because recorded
// inputs do not show how rounding changes the cell of every other coordinate.
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <clang/AST/TypeLoc.h>

#include <algorithm>

#include "tuner/source/rules/arithmetic/rounding.h"
#include "tuner/source/rules/rule.h"
#include "tuner/source/rules/spelled_type.h"

namespace kernelift::tuner {
namespace {

std::vector<Opportunity> find_double_to_float(const KernelSource& source, const RuleContext& facts, const Bindings&) {
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel) return {};
  auto& context = source.context();
  for (auto* parameter : kernel->parameters())
    if (parameter->getType()->isPointerType() &&
        context.hasSameUnqualifiedType(parameter->getType()->getPointeeType(), context.DoubleTy))
      return {};
  if (!only_plain_floats(source, kernel->getBody()) ||
      !std::all_of(kernel->param_begin(), kernel->param_end(),
                   [&](auto* parameter) { return is_plain_float(source, parameter); }))
    return {};
  bool bearable = true;
  walk(kernel->getBody(), [&](const clang::Stmt* statement) {
    if (auto* literal = llvm::dyn_cast<clang::FloatingLiteral>(statement)) bearable &= fits_single(literal);
    return bearable;
  });
  if (!bearable) return {};
  Opportunity found;
  found.place = "locals of " + kernel->getNameAsString(),
  found.effects = {"lowers the precision of double variables to float"};
  bool compares = false;
  walk(kernel->getBody(), [&](const clang::Stmt* statement) {
    auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement);
    if (!declaration) return true;
    std::optional<size_t> type;  // Position of the type, which `double a, b;` spells once for all variables.
    RoundedUse worst = RoundedUse::Value;
    for (auto* declared : declaration->decls()) {
      auto* variable = llvm::dyn_cast<clang::VarDecl>(declared);
      if (!variable || variable->hasAttr<clang::CUDASharedAttr>() ||
          !context.hasSameUnqualifiedType(variable->getType(), context.DoubleTy))
        continue;
      type = source.offset(variable->getTypeSourceInfo()->getTypeLoc().getUnqualifiedLoc().getBeginLoc());
      worst = std::max(worst, use_of(source, variable));
    }
    if (!type || worst == RoundedUse::Truncated || source.text().compare(*type, 6, "double") != 0) return true;
    compares |= worst == RoundedUse::Compared;
    found.edits.push_back({*type, *type + 6, "float"});
    return true;
  });
  if (found.edits.empty()) return {};
  if (compares) found.effects.push_back(kComparesRounded);
  return {found};
}

}  // namespace

const Rule kDoubleToFloat = {
    "double_to_float",
    "compute in float where all data is float",
    "no pointer parameter of the kernel is double, and no part of the value becomes an integer",
    {},
    find_double_to_float,
    {Bound::Compute}};

}  // namespace kernelift::tuner
