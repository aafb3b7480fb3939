// See template_instance.h.
#include "tuner/source/rules/template_instance.h"

#include <clang/AST/DeclTemplate.h>
#include <clang/AST/Stmt.h>

#include "tuner/source/rules/kernel_source.h"

namespace kernelift::tuner {

const clang::FunctionDecl* only_instance(const clang::FunctionDecl* pattern) {
  const clang::FunctionTemplateDecl* made_from = pattern->getDescribedFunctionTemplate();
  if (!made_from) return nullptr;
  const clang::FunctionDecl* only = nullptr;
  for (const clang::FunctionDecl* instance : made_from->specializations()) {
    if (!instance->isTemplateInstantiation() || !instance->doesThisDeclarationHaveABody()) continue;
    if (only) return nullptr;
    only = instance;
  }
  bool whole = only;
  walk(pattern->getBody(), [&](const clang::Stmt* statement) {
    auto* branch = llvm::dyn_cast<clang::IfStmt>(statement);
    return whole &= !branch || !branch->isConstexpr();
  });
  return whole ? only : nullptr;
}

std::set<unsigned> generic_variables(const clang::FunctionDecl* pattern) {
  std::set<unsigned> places;
  auto note = [&](const clang::ValueDecl* variable) {
    if (variable->getType()->isDependentType()) places.insert(variable->getLocation().getRawEncoding());
  };
  for (auto* parameter : pattern->parameters()) note(parameter);
  walk(pattern->getBody(), [&](const clang::Stmt* statement) {
    if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement))
      for (auto* declared : declaration->decls())
        if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared)) note(variable);
    return true;
  });
  return places;
}

}  // namespace kernelift::tuner
