// double_to_float: local `double` variables become `float`, in kernels whose data is float. What was written with
// doubles out of habit runs at a fraction of a GPU's rate; what needs them fails verification and stays. Data whose
// type is an alias or a macro may be double another time, and numbers that floats do not bear say that the range of
// doubles is meant. What is cut to an integer stays: which cell a coordinate is in, no recorded input decides for all
// others.
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <clang/AST/TypeLoc.h>

#include <algorithm>

#include "tuner/source/rules/arithmetic/rounding.h"
#include "tuner/source/rules/rule.h"
#include "tuner/source/rules/spelled_type.h"

namespace kernelift {
namespace {

std::vector<Opportunity> find(const KernelSource& source, const RuleContext& facts, const Bindings&) {
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
    if (auto* literal = llvm::dyn_cast<clang::FloatingLiteral>(statement)) bearable &= bears_single(literal);
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
    std::optional<size_t> type;  // `double a, b;` spells it once, for all.
    Rounded worst = Rounded::Value;
    for (auto* declared : declaration->decls()) {
      auto* variable = llvm::dyn_cast<clang::VarDecl>(declared);
      if (!variable || variable->hasAttr<clang::CUDASharedAttr>() ||
          !context.hasSameUnqualifiedType(variable->getType(), context.DoubleTy))
        continue;
      type = source.offset(variable->getTypeSourceInfo()->getTypeLoc().getUnqualifiedLoc().getBeginLoc());
      worst = std::max(worst, what_becomes_of(source, variable));
    }
    if (!type || worst == Rounded::Cut || source.text().compare(*type, 6, "double") != 0) return true;
    compares |= worst == Rounded::Compared;
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
    "compute in float what only goes into float data",
    "no pointer parameter of the kernel is double, and nothing of the value becomes an integer",
    {},
    find,
    {Bound::Compute}};

}  // namespace kernelift
