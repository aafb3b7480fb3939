// What host code writes by an expression, as its type and its text tell: parts of effects.h.
#pragma once
#include <set>

#include "clang/AST/DeclCXX.h"
#include "clang/AST/Expr.h"
#include "extractor/source/parsed_unit.h"

namespace kernelift::extractor {

const clang::Expr* without_casts(const clang::Expr* e);
/// The variable that the expression names, as its first declaration; null: it names none.
const clang::VarDecl* variable_of(const clang::Expr* e);
/// One for signed and unsigned, of which a pointer to one may lead to the other; of an array, its elements'. Null: of a
/// template's pattern.
const clang::Type* memory_type(clang::QualType type, const clang::ASTContext& context);
/// A function that writes its arguments after it has returned.
bool is_asynchronous(const clang::FunctionDecl* callee);
/// Whether what is passed for the parameter may be written.
bool is_writable(clang::QualType parameter);
/// Destructors of the application that run when an object of the type ends, those of its parts too.
void destructors(clang::QualType type, const ParsedUnit& unit, std::set<const clang::CXXDestructorDecl*>& into);

}  // namespace kernelift::extractor
