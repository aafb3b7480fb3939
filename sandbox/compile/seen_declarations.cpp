// See seen_declarations.h.
#include "sandbox/compile/seen_declarations.h"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/DynamicRecursiveASTVisitor.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>

namespace kernelift::sandbox {
namespace {

constexpr const char* kDeclaration = "declaration";

class Seen : public clang::DynamicRecursiveASTVisitor {
 public:
  explicit Seen(AdmissionRecorder recorder) : recorder_(recorder) {}

  bool VisitFieldDecl(clang::FieldDecl* field) override {
    auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(field->getParent());
    if (!record || !record->isLambda()) declare(*field, recorder_.text(field->getSourceRange()));
    return true;
  }
  bool VisitCXXRecordDecl(clang::CXXRecordDecl* record) override {
    if (!record->isThisDeclarationADefinition() || record->isLambda()) return true;
    std::string parts;
    for (auto& base : record->bases()) parts += recorder_.text(base.getSourceRange()) + ", ";
    for (auto* field : record->fields()) parts += field->getNameAsString() + "; ";
    declare(*record, parts);
    return true;
  }
  bool VisitTypedefNameDecl(clang::TypedefNameDecl* alias) override {
    declare(*alias, recorder_.text(alias->getSourceRange()));
    return true;
  }
  bool VisitEnumConstantDecl(clang::EnumConstantDecl* constant) override {
    if (auto* value = constant->getInitExpr()) declare(*constant, value_text(*value));
    return true;
  }
  bool VisitTemplateDecl(clang::TemplateDecl* made) override {
    std::string defaults;
    for (clang::NamedDecl* parameter : *made->getTemplateParameters()) {
      auto* number = llvm::dyn_cast<clang::NonTypeTemplateParmDecl>(parameter);
      if (number && number->hasDefaultArgument()) {
        auto& argument = number->getDefaultArgument().getArgument();
        defaults += argument.getKind() == clang::TemplateArgument::Expression
                        ? value_text(*argument.getAsExpr())
                        : recorder_.text(number->getSourceRange());
      } else {
        defaults += recorder_.text(parameter->getSourceRange());
      }
      defaults += ", ";
    }
    // A function's template may have others of its name beside it, and no host code calls one of the device's.
    auto* of = made->getTemplatedDecl();
    if (of && !llvm::isa<clang::FunctionDecl>(of)) declare(*made, defaults);
    return true;
  }

  bool VisitVarDecl(clang::VarDecl* variable) override {
    if (!variable->hasGlobalStorage() || variable->isImplicit() || variable->isStaticLocal()) return true;
    const bool of_device = is_device_variable(*variable);
    // Host code may read a device variable's initial value, and where the application sets it, nobody judges it.
    auto* initial = variable->getInit();
    const std::string value = !initial    ? ""
                              : of_device ? recorder_.text(initial->getSourceRange())
                                          : value_text(*initial);
    declare(*variable, variable->getType().getAsString() + " = " + value);
    if ((of_device || is_written<clang::CUDASharedAttr>(*variable)) && depends_on_templates(*variable))
      add("variable-type", recorder_.text(variable->getSourceRange()), variable->getLocation(),
          "its type is a template's or an expression's, which another compiler may find to be another one");
    return true;
  }

 private:
  void add(const char* rule, std::string text, clang::SourceLocation at, const char* why) {
    if (recorder_.in_source(at)) recorder_.add(rule, std::move(text), at, why);
  }
  void declare(const clang::NamedDecl& decl, const std::string& text) {
    if (decl.getParentFunctionOrMethod() || decl.getDeclName().isEmpty()) return;
    add(kDeclaration, decl.getQualifiedNameAsString() + "\n" + text, decl.getLocation(),
        "host code may see it, and it is not what the kernel's source has");
  }
  /// A number may be another: what host code makes of it is compared. What it is made of must stay.
  std::string value_text(const clang::Expr& value) const {
    return is_number(value) ? "a number" : recorder_.text(value.getSourceRange());
  }
  static bool is_number(const clang::Stmt& value) {
    if (llvm::isa<clang::IntegerLiteral, clang::FloatingLiteral, clang::CharacterLiteral, clang::CXXBoolLiteralExpr>(
            value))
      return true;
    const bool may = llvm::isa<clang::ConstantExpr, clang::ParenExpr, clang::ImplicitCastExpr, clang::UnaryOperator,
                               clang::BinaryOperator, clang::InitListExpr, clang::SubstNonTypeTemplateParmExpr>(value);
    return may && std::ranges::all_of(value.children(), [](auto* part) { return part && is_number(*part); });
  }
  static bool depends_on_templates(const clang::VarDecl& variable) {
    struct Finder : clang::DynamicRecursiveASTVisitor {
      bool found = false;
      bool VisitTemplateSpecializationTypeLoc(clang::TemplateSpecializationTypeLoc) override { return !(found = true); }
      bool VisitDecltypeTypeLoc(clang::DecltypeTypeLoc) override { return !(found = true); }
      bool VisitDependentNameTypeLoc(clang::DependentNameTypeLoc) override { return !(found = true); }
      bool VisitAutoTypeLoc(clang::AutoTypeLoc) override { return !(found = true); }
      bool VisitTypedefTypeLoc(clang::TypedefTypeLoc type) override {
        auto* source = type.getDecl()->getTypeSourceInfo();
        return !source || TraverseTypeLoc(source->getTypeLoc());
      }
    } finder;
    if (auto* source = variable.getTypeSourceInfo()) finder.TraverseTypeLoc(source->getTypeLoc());
    return finder.found;
  }

  AdmissionRecorder recorder_;
};

}  // namespace

void note_seen_declarations(AdmissionRecorder recorder, clang::Decl& decl) { Seen(recorder).TraverseDecl(&decl); }

bool declares_new_name(const AdmissionFinding& finding, const std::set<std::string>& own) {
  if (finding.rule != kDeclaration) return false;
  const std::string named = finding.identity().substr(0, finding.rule.size() + finding.text.find('\n') + 2);
  auto first = own.lower_bound(named);
  return first == own.end() || !first->starts_with(named);
}

}  // namespace kernelift::sandbox
