// constant_to_global: constant memory answers a warp at one address at a time. A table in it that threads look up with
// indices of their own is read 32 times over; from ordinary memory, through the caches, it is read once:
//   __constant__ unsigned char table[256];   ->   __device__ unsigned char table[256];
// The host fills either by cudaMemcpyToSymbol.
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>

#include "tuner/source/rules/rule.h"

namespace kernelift {
namespace {

/// The same for all threads of a warp, as far as the words show: literals, loop counters and parameters.
bool may_differ_between_threads(const clang::Expr* index) {
  bool differs = false;
  walk(index, [&](const clang::Stmt* statement) {
    differs |= llvm::isa<clang::ArraySubscriptExpr, clang::PseudoObjectExpr>(statement);
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
    auto* variable = reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
    // A variable that is set once, from something that differs.
    if (variable && !llvm::isa<clang::ParmVarDecl>(variable) && variable->getInit() && variable->hasLocalStorage())
      differs |=
          !variable->getInit()->isValueDependent() && !variable->getInit()->isEvaluatable(variable->getASTContext());
    return !differs;
  });
  return differs;
}

std::vector<Opportunity> find(const KernelSource& source, const RuleContext&, const Bindings&) {
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
      // CUDA's macro, before the type or after it, in the same declaration.
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
                                find,
                                {Bound::Memory, Bound::Latency}};

}  // namespace kernelift
