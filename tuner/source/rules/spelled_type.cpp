// See spelled_type.h. A type that a system header declares does not change with the program's configuration.
#include "tuner/source/rules/spelled_type.h"

#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/TypeLoc.h>
#include <clang/Lex/Lexer.h>

#include <cmath>

#include "core/base/words.h"

namespace kernelift::tuner {
namespace {

/// The type behind pointers, references and arrays.
clang::TypeLoc innermost(clang::TypeLoc type) {
  for (;;) {
    type = type.getUnqualifiedLoc();
    if (auto pointer = type.getAs<clang::PointerTypeLoc>()) type = pointer.getPointeeLoc();
    else if (auto reference = type.getAs<clang::ReferenceTypeLoc>()) type = reference.getPointeeLoc();
    else if (auto array = type.getAs<clang::ArrayTypeLoc>()) type = array.getElementLoc();
    else if (auto parens = type.getAs<clang::ParenTypeLoc>()) type = parens.getInnerLoc();
    else return type;
  }
}

/// The same for a type that may be hidden behind an alias.
clang::QualType innermost(clang::QualType type) {
  for (;;) {
    if (type->isPointerType() || type->isReferenceType()) type = type->getPointeeType();
    else if (auto* array = type->getAsArrayTypeUnsafe()) type = array->getElementType();
    else return type;
  }
}

bool of_the_system(const KernelSource& source, clang::SourceLocation at) {
  auto& sources = source.context().getSourceManager();
  return at.isInvalid() || sources.isInSystemHeader(sources.getExpansionLoc(at));
}

/// The spelled name of `float`: the keyword, or the macro that expands to it; empty if it cannot be repeated.
std::string builtin_name(const KernelSource& source, clang::SourceLocation at) {
  auto& sources = source.context().getSourceManager();
  auto& language = source.context().getLangOpts();
  if (!at.isMacroID() || of_the_system(source, at)) return "float";
  clang::SourceLocation begin;
  bool whole = clang::Lexer::isAtStartOfMacroExpansion(at, sources, language, &begin) &&
               clang::Lexer::isAtEndOfMacroExpansion(at, sources, language);
  auto range = sources.getExpansionRange(at);
  auto place = whole && range.getBegin() == range.getEnd() ? source.offset(range.getBegin()) : std::nullopt;
  if (!place) return "";
  return source.text().substr(*place, end_of_word(source.text(), *place) - *place);
}

using Visit = std::function<void(clang::TypeLoc)>;

void visit_declaration(const clang::DeclaratorDecl* declaration, const Visit& visit) {
  if (auto* written = declaration->getTypeSourceInfo()) visit(written->getTypeLoc());
}

/// Types of the result and the parameters. A template instance's types follow from its arguments, which are visited
/// where they are spelled.
void visit_function(const clang::FunctionDecl* function, const Visit& visit) {
  auto* written = function->getTypeSourceInfo();
  auto type = written && !function->isTemplateInstantiation() ? written->getTypeLoc().getAs<clang::FunctionTypeLoc>()
                                                              : clang::FunctionTypeLoc();
  if (!type) return;
  visit(type.getReturnLoc());
  for (auto* parameter : function->parameters()) visit_declaration(parameter, visit);
}

/// Every type that is spelled in the statement, or in the declarations of the names that it mentions.
void each_type(const clang::Stmt* root, const Visit& visit) {
  auto of = [&](const clang::ValueDecl* declared) {
    auto* variable = llvm::dyn_cast<clang::VarDecl>(declared);
    bool deduced = variable && variable->getType()->getContainedAutoType();
    if (deduced && variable->getInit()) each_type(variable->getInit(), visit);  // `auto` has the initialiser's type.
    else if (auto* function = llvm::dyn_cast<clang::FunctionDecl>(declared)) visit_function(function, visit);
    else if (auto* declarator = llvm::dyn_cast<clang::DeclaratorDecl>(declared)) visit_declaration(declarator, visit);
  };
  walk(root, [&](const clang::Stmt* statement) {
    if (auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement)) {
      of(reference->getDecl());
      for (auto& argument : reference->template_arguments())
        if (auto* type = argument.getArgument().getKind() == clang::TemplateArgument::Type
                             ? argument.getTypeSourceInfo()
                             : nullptr)
          visit(type->getTypeLoc());
    } else if (auto* member = llvm::dyn_cast<clang::MemberExpr>(statement)) {
      of(member->getMemberDecl());
    } else if (auto* cast = llvm::dyn_cast<clang::ExplicitCastExpr>(statement)) {
      if (auto* written = cast->getTypeInfoAsWritten()) visit(written->getTypeLoc());
    } else if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement)) {
      for (auto* declared : declaration->decls())
        if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared)) visit_declaration(variable, visit);
    }
    return true;
  });
}

/// The spelled name of a single-precision type, empty if it cannot be repeated; nullopt for other types.
std::optional<std::string> float_name(const KernelSource& source, clang::TypeLoc written) {
  auto& context = source.context();
  auto type = innermost(written);
  if (type.getType()->isDependentType() || !context.hasSameUnqualifiedType(innermost(type.getType()), context.FloatTy))
    return std::nullopt;
  if (type.getAs<clang::BuiltinTypeLoc>()) return builtin_name(source, type.getBeginLoc());
  auto* alias = type.getType()->getAs<clang::TypedefType>();
  bool named =
      alias && context.hasSameUnqualifiedType(type.getType(), context.FloatTy) && !type.getBeginLoc().isMacroID();
  // An alias inside a class or function may not be visible elsewhere.
  return named && alias->getDecl()->getDeclContext()->getRedeclContext()->isFileContext()
             ? alias->getDecl()->getNameAsString()
             : "";
}

}  // namespace

std::set<std::string> float_names(const KernelSource& source, const clang::Stmt* root) {
  std::set<std::string> names;
  each_type(root, [&](clang::TypeLoc type) {
    if (auto name = float_name(source, type)) names.insert(*name);
  });
  return names;
}

bool only_plain_floats(const KernelSource& source, const clang::Stmt* root) {
  auto names = float_names(source, root);
  names.erase("float");
  return names.empty();
}

bool is_plain_float(const KernelSource& source, const clang::VarDecl* variable) {
  auto* written = variable->getTypeSourceInfo();
  return !written || float_name(source, written->getTypeLoc()).value_or("float") == "float";
}

std::optional<std::string> float_name_around(const KernelSource& source, const clang::Stmt* part) {
  const clang::Stmt *whole = part, *up = part;
  while ((up = source.parent(up)) && llvm::isa<clang::Expr, clang::DeclStmt, clang::ReturnStmt>(up)) whole = up;
  auto names = float_names(source, whole);
  if (llvm::isa<clang::ReturnStmt>(whole))
    for (auto* function : source.functions()) {
      bool inside = false;
      walk(function->getBody(), [&](const clang::Stmt* statement) { return !(inside |= statement == whole); });
      auto type = inside && function->getTypeSourceInfo()
                      ? function->getTypeSourceInfo()->getTypeLoc().getAs<clang::FunctionTypeLoc>()
                      : clang::FunctionTypeLoc();
      if (auto name = type ? float_name(source, type.getReturnLoc()) : std::nullopt) names.insert(*name);
    }
  names.erase("float");
  if (names.empty()) return "float";
  return names.size() == 1 && !names.begin()->empty() ? std::optional(*names.begin()) : std::nullopt;
}

bool spelled_by_macro(const KernelSource& source, const clang::VarDecl* variable) {
  auto* written = variable->getTypeSourceInfo();
  if (!written) return false;
  auto type = innermost(written->getTypeLoc());
  return type.getType()->isPointerType() ||
         (type.getBeginLoc().isMacroID() && !of_the_system(source, type.getBeginLoc()));
}

/// The array of numbers from which `auto x = array[i];` has its type; nullptr for other declarations.
static const clang::VarDecl* array_of_element(const clang::VarDecl* variable) {
  auto* initial = variable->getInit();
  auto* element = initial ? llvm::dyn_cast<clang::ArraySubscriptExpr>(initial->IgnoreParenImpCasts()) : nullptr;
  auto* array = element ? named_variable(element->getBase()) : nullptr;
  const bool same = array && variable->getType()->isArithmeticType() && !array->getType()->getContainedAutoType() &&
                    variable->getASTContext().hasSameUnqualifiedType(variable->getType(), element->getType());
  return same ? array : nullptr;
}

std::string spelled_type(const KernelSource& source, const clang::VarDecl* variable) {
  auto* written = variable->getTypeSourceInfo();
  if (!written) return {};
  auto type = innermost(written->getTypeLoc());
  if (auto* array = variable->getType()->getContainedAutoType() ? array_of_element(variable) : nullptr)
    return spelled_type(source, array);
  if (type.getType()->isPointerType() || type.getType()->isArrayType() || type.getType()->getContainedAutoType())
    return {};
  auto& sources = source.context().getSourceManager();
  auto range = clang::Lexer::makeFileCharRange(clang::CharSourceRange::getTokenRange(type.getSourceRange()), sources,
                                               source.context().getLangOpts());
  auto begin = range.isValid() ? source.offset(range.getBegin()) : std::nullopt;
  auto end = range.isValid() ? source.offset(range.getEnd()) : std::nullopt;
  return begin && end ? source.text().substr(*begin, *end - *begin) : std::string();
}

bool only_plain_integers(const KernelSource& source, const clang::Stmt* root) {
  bool plain = true;
  each_type(root, [&](clang::TypeLoc written) {
    auto type = innermost(written);
    if (!innermost(type.getType())->isIntegerType()) return;
    auto* alias = type.getType()->getAs<clang::TypedefType>();
    if (alias) plain &= of_the_system(source, alias->getDecl()->getLocation());
    else
      plain &= type.getAs<clang::BuiltinTypeLoc>() &&
               (!type.getBeginLoc().isMacroID() || of_the_system(source, type.getBeginLoc()));
  });
  return plain;
}

bool fits_single(const clang::FloatingLiteral* literal) {
  double size = std::abs(literal->getValueAsApproximateDouble());
  return size == 0 || (size >= 1e-18 && size <= 1e18);
}

}  // namespace kernelift::tuner
