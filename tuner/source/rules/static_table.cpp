// static_table: a table that every thread has for itself lies in its stack, that is in local memory, and is written
// before it is read:
//   const unsigned char digits[] = "0123456789abcdef";   ->   static const unsigned char digits[] = "0123456789abcdef";
// One for all threads is read through the caches, and by nobody written.
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>

#include "tuner/source/rules/rule.h"
#include "tuner/source/rules/stencils/shifted_reads.h"

namespace kernelift::tuner {
namespace {

constexpr uint64_t kFewestElements = 4;  ///< What is smaller may lie in registers.

/// Of elements that are numbers, with an initialiser that the compiler knows.
bool is_constant_table(const KernelSource& source, const clang::VarDecl* array) {
  auto& context = source.context();
  auto* type = context.getAsConstantArrayType(array->getType());
  return type && array->hasLocalStorage() && !array->getType().isVolatileQualified() &&
         !array->hasAttr<clang::CUDASharedAttr>() && type->getElementType()->isArithmeticType() &&
         type->getSize().getZExtValue() >= kFewestElements && array->getInit() &&
         !array->getInit()->isValueDependent() && array->getInit()->isConstantInitializer(context, false);
}

std::vector<Opportunity> find_static_table(const KernelSource& source, const RuleContext&, const Bindings&) {
  std::vector<Opportunity> found;
  for (auto* function : source.functions())
    walk(function->getBody(), [&](const clang::Stmt* statement) {
      if (llvm::isa<clang::LambdaExpr>(statement)) return false;
      auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement);
      auto* array = declaration && declaration->isSingleDecl()
                        ? llvm::dyn_cast<clang::VarDecl>(declaration->getSingleDecl())
                        : nullptr;
      if (!array || !is_constant_table(source, array) || !is_only_read(source, function->getBody(), array)) return true;
      auto range = source.span(declaration);
      if (!range) return true;  // A macro spells it.
      Opportunity opportunity;
      opportunity.place = array->getNameAsString();
      const bool constant = array->getType().isConstQualified() || array->isConstexpr();
      opportunity.edits.push_back({range->begin, range->begin, constant ? "static " : "static const "});
      found.push_back(std::move(opportunity));
      return true;
    });
  return found;
}

}  // namespace

const Rule kStaticTable = {"static_table",
                           "keep a table of constants once for all threads instead of in each thread's stack",
                           "a local array with a constant initialiser that is only read",
                           {},
                           find_static_table,
                           {Bound::Memory, Bound::Latency},
                           0.2};

}  // namespace kernelift::tuner
