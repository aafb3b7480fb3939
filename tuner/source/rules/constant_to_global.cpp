// constant_to_global: constant memory serves one address of a warp at a time. If threads read a table with different
// indices, its accesses are serialised up to 32 times; in global memory the caches serve them together:
//   __constant__ unsigned char table[256];   ->   __device__ unsigned char table[256];
// The host fills both kinds with cudaMemcpyToSymbol.
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>

#include "tuner/source/rules/rule.h"

namespace kernelift::tuner {
namespace {

/// Whether the threads of a warp may have different indices. Literals, loop counters and parameters are uniform.
bool may_differ_between_threads(const clang::Expr* index) {
  bool differs = false;
  walk(index, [&](const clang::Stmt* statement) {
    differs |= llvm::isa<clang::ArraySubscriptExpr, clang::PseudoObjectExpr>(statement);
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
    auto* variable = reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
    // A local variable with an initialiser that is not constant.
    if (variable && !llvm::isa<clang::ParmVarDecl>(variable) && variable->getInit() && variable->hasLocalStorage())
      differs |=
          !variable->getInit()->isValueDependent() && !variable->getInit()->isEvaluatable(variable->getASTContext());
    return !differs;
  });
  return differs;
}

std::vector<Opportunity> find_constant_to_global(const KernelSource& source, const RuleContext&, const Bindings&) {
  std::vector<Opportunity> found;
  std::set<const clang::VarDecl*> seen;
  for (auto* function : source.functions())
    walk(function->getBody(), [&](const clang::Stmt* statement) {
      auto* subscript = llvm::dyn_cast<clang::ArraySubscriptExpr>(statement);
      auto* table = subscript ? named_variable(subscript->getBase()) : nullptr;
      if (!table || !table->hasAttr<clang::CUDAConstantAttr>() || !may_differ_between_threads(subscript->getIdx()))
        return true;
      table = table->getCanonicalDecl();
      auto name = source.offset(table->getLocation());
      if (!name || !seen.insert(table).second) return true;
      // __constant__ may precede or follow the type, in the same declaration.
      size_t at = source.text().rfind("__constant__", *name);
      if (at == std::string::npos || source.text().find_first_of(";}", at) < *name) return true;
      Opportunity opportunity;
      opportunity.place = table->getNameAsString();
      opportunity.edits.push_back({at, at + std::string_view("__constant__").size(), "__device__"});
      found.push_back(std::move(opportunity));
      return true;
    });
  return found;
}

}  // namespace

const Rule kConstantToGlobal = {"constant_to_global",
                                "look a table up in cached memory instead of constant memory",
                                "a __constant__ array whose index differs between threads",
                                {},
                                find_constant_to_global,
                                {Bound::Memory, Bound::Latency}};

}  // namespace kernelift::tuner
