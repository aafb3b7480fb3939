// demote: local `double` variables become `float`, in kernels whose data is float. What was written with doubles out of habit
// runs at a fraction of a GPU's rate; what needs them fails verification and stays. Data whose type is an alias or a macro may
// be double another time, and numbers that floats do not bear say that the range of doubles is meant.
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <clang/AST/TypeLoc.h>

#include <algorithm>

#include "tuner/source/rules/rule.h"
#include "tuner/source/rules/spelled_type.h"

namespace kernelift {
namespace {

std::vector<Opportunity> find(const KernelSource& source, const RuleContext& facts, const Bindings&) {
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel) return {};
  auto& context = source.context();
  for (auto* parameter : kernel->parameters())
    if (parameter->getType()->isPointerType() && context.hasSameUnqualifiedType(parameter->getType()->getPointeeType(), context.DoubleTy)) return {};
  if (!only_plain_floats(source, kernel->getBody()) ||
      !std::all_of(kernel->param_begin(), kernel->param_end(), [&](auto* parameter) { return is_plain_float(source, parameter); }))
    return {};
  bool bearable = true;
  walk(kernel->getBody(), [&](const clang::Stmt* statement) {
    if (auto* literal = llvm::dyn_cast<clang::FloatingLiteral>(statement)) bearable &= bears_single(literal);
    return bearable;
  });
  if (!bearable) return {};
  Opportunity found;
  found.place = "locals of " + kernel->getNameAsString(), found.premise = "which lowers the precision of double variables to float";
  std::set<size_t> seen;   // `double a, b;` spells its type once.
  walk(kernel->getBody(), [&](const clang::Stmt* statement) {
    auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement);
    if (!declaration) return true;
    for (auto* declared : declaration->decls()) {
      auto* variable = llvm::dyn_cast<clang::VarDecl>(declared);
      if (!variable || variable->hasAttr<clang::CUDASharedAttr>() || !context.hasSameUnqualifiedType(variable->getType(), context.DoubleTy)) continue;
      auto location = variable->getTypeSourceInfo()->getTypeLoc().getUnqualifiedLoc();
      auto at = source.offset(location.getBeginLoc());
      if (at && source.text().compare(*at, 6, "double") == 0 && seen.insert(*at).second) found.edits.push_back({*at, *at + 6, "float"});
    }
    return true;
  });
  if (found.edits.empty()) return {};
  return {found};
}

}  // namespace

const Rule kDemote = {"demote", "compute in float what only goes into float data", "no pointer parameter of the kernel is double", {}, find, {Bound::Compute}};

}  // namespace kernelift
