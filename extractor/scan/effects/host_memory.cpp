// See host_memory.h.
#include "extractor/scan/effects/host_memory.h"

#include "clang/AST/ExprCXX.h"

namespace kernelift::extractor {

using namespace clang;

const Expr* without_casts(const Expr* e) {
  for (;;) {
    const Expr* before = e;
    e = e->IgnoreParenCasts();
    if (auto* cleanups = llvm::dyn_cast<ExprWithCleanups>(e)) e = cleanups->getSubExpr();
    if (auto* temporary = llvm::dyn_cast<MaterializeTemporaryExpr>(e)) e = temporary->getSubExpr();
    if (e == before) return e;
  }
}

const VarDecl* variable_of(const Expr* e) {
  auto* reference = llvm::dyn_cast<DeclRefExpr>(e->IgnoreParenImpCasts());
  auto* variable = reference ? llvm::dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
  return variable ? variable->getCanonicalDecl() : nullptr;
}

const Type* memory_type(QualType type, const ASTContext& context) {
  if (type.isNull()) return nullptr;  // Of a template's pattern.
  type = context.getCanonicalType(type.getNonReferenceType()).getUnqualifiedType();
  while (auto* array = context.getAsArrayType(type)) type = array->getElementType().getUnqualifiedType();
  if (type->isSignedIntegerType() && !type->isEnumeralType() && !type->isBooleanType())
    type = context.getCorrespondingUnsignedType(type);
  return type.getTypePtr();
}

bool is_asynchronous(const FunctionDecl* callee) {
  const llvm::StringRef name = callee->getIdentifier() ? callee->getName() : "";
  return name.contains("Async") || name.starts_with("MPI_I");
}

void destructors(QualType type, const ParsedUnit& unit, std::set<const CXXDestructorDecl*>& into) {
  if (type.isNull() || type->isReferenceType()) return;
  auto* record = type->getBaseElementTypeUnsafe()->getAsCXXRecordDecl();
  if (!record || !record->hasDefinition() || record->hasTrivialDestructor()) return;
  auto* destructor = record->getDestructor();
  if (!destructor || !unit.is_user(record->getLocation()) || into.contains(destructor)) return;
  if (destructor->isUserProvided()) into.insert(destructor);
  for (auto& base : record->bases()) destructors(base.getType(), unit, into);
  for (auto* field : record->fields()) destructors(field->getType(), unit, into);
}

bool is_writable(QualType parameter) {
  if (parameter.isNull() || parameter->isDependentType()) return true;
  if (parameter->isReferenceType() || parameter->isPointerType())
    return !parameter->getPointeeType().isConstQualified();
  return false;
}

}  // namespace kernelift::extractor
