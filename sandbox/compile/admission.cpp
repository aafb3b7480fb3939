// The AST visitor examines declarations in the main file as they are written: templates, not their instances. The
// preprocessor callbacks see skipped blocks and the pragmas of macros, which are not in the AST.
#include "sandbox/compile/admission.h"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/DynamicRecursiveASTVisitor.h>
#include <clang/AST/ExprCXX.h>
#include <clang/Basic/Builtins.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>

#include <algorithm>
#include <map>

#include "core/compiler/written/source_tokens.h"
#include "core/compiler/written/written_text.h"
#include "sandbox/compile/admission_recorder.h"
#include "sandbox/compile/seen_declarations.h"

namespace kernelift::sandbox {
namespace {

using clang::SourceLocation;
using clang::SourceRange;

/// Equal for texts of equal lines, however deep these are indented: rules put loops around what is there.
std::string lines_of_tokens(const std::string& text) {
  std::string lines;
  for (auto& token : source_tokens(text)) {
    if (!lines.empty()) lines += token.starts_line ? "\n" : token.spaced ? " " : "";
    lines += token.text;
  }
  return lines;
}

/// What the tokens of the text do not show: what macros of headers become, and what is skipped.
class Directives : public clang::PPCallbacks {
 public:
  Directives(AdmissionRecorder recorder, std::vector<const clang::IdentifierInfo*>& macros)
      : recorder_(recorder), macros_(macros) {}

  void MacroDefined(const clang::Token& name, const clang::MacroDirective* directive) override {
    if (!recorder_.in_source(name.getLocation())) return;
    macros_.push_back(name.getIdentifierInfo());
    // The headers' own macro: host code behind the kernel may use it.
    for (auto* before = directive->getPrevious(); before; before = before->getPrevious())
      if (!recorder_.in_source(before->getLocation()))
        return recorder_.add("macro", name.getIdentifierInfo()->getName().str(), name.getLocation());
  }
  void MacroExpands(const clang::Token& name, const clang::MacroDefinition& macro, SourceRange,
                    const clang::MacroArgs*) override {
    read(name, macro);
  }
  void Defined(const clang::Token& name, const clang::MacroDefinition& macro, SourceRange) override {
    read(name, macro);
  }
  void PragmaDirective(SourceLocation at, clang::PragmaIntroducerKind) override {
    if (!recorder_.in_source(at) || recorder_.is_spelled_in_source(at)) return;
    recorder_.add("pragma", recorder_.text({at, at}), at);
  }
  void SourceRangeSkipped(SourceRange range, SourceLocation) override {
    if (recorder_.in_source(range.getBegin()))
      recorder_.add("inactive-code", lines_of_tokens(recorder_.text(range)), range.getBegin());
  }

 private:
  void read(const clang::Token& name, const clang::MacroDefinition& macro) {
    const clang::MacroInfo* info = macro.getMacroInfo();
    if (!info || !recorder_.is_spelled_in_source(name.getLocation()) || !name.getIdentifierInfo()) return;
    if (!info->isBuiltinMacro() && recorder_.in_source(info->getDefinitionLoc())) return;
    if (auto word = name.getIdentifierInfo()->getName(); !is_free_macro(std::string_view(word)))
      recorder_.add("value", word.str(), name.getLocation(),
                    "another compiler or build gives this macro another meaning, and the kernel does not use it");
  }

  AdmissionRecorder recorder_;
  std::vector<const clang::IdentifierInfo*>& macros_;
};

bool on_device(const clang::FunctionDecl& function) {
  return function.hasAttr<clang::CUDADeviceAttr>() || function.hasAttr<clang::CUDAGlobalAttr>();
}

/// Names of variables of functions around a lambda that its body names and does not capture.
class Around : public clang::DynamicRecursiveASTVisitor {
 public:
  Around(clang::LambdaExpr& lambda, const std::set<const clang::ValueDecl*>& captured)
      : own_(lambda.getCallOperator()), captured_(captured) {
    TraverseStmt(lambda.getBody());
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* name) override {
    auto* variable = llvm::dyn_cast<clang::VarDecl>(name->getDecl());
    auto* owner =
        variable ? llvm::dyn_cast_or_null<clang::FunctionDecl>(variable->getParentFunctionOrMethod()) : nullptr;
    bool inside = false;
    for (const clang::DeclContext* scope = owner; scope; scope = scope->getParent()) inside |= scope == own_;
    if (owner && !inside && !captured_.contains(variable)) names.insert(variable->getNameAsString());
    return true;
  }
  std::set<std::string> names;

 private:
  const clang::FunctionDecl* own_;
  const std::set<const clang::ValueDecl*>& captured_;
};

/// The bodies of the lambdas in a host function that run on the device, and what each lambda is to the host: its type
/// as a function, and its fields in their order. Of a template's instances, those of all; a lambda that is never
/// instantiated keeps its text.
class DeviceLambdas : public clang::DynamicRecursiveASTVisitor {
 public:
  explicit DeviceLambdas(const clang::FunctionDecl& function) {
    auto& mutable_function = const_cast<clang::FunctionDecl&>(function);
    if (auto* pattern = function.getDescribedFunctionTemplate())
      for (clang::FunctionDecl* instance : pattern->specializations()) TraverseStmt(instance->getBody());
    else if (!function.isDependentContext()) TraverseStmt(mutable_function.getBody());
  }
  bool TraverseLambdaExpr(clang::LambdaExpr* lambda) override {
    if (!on_device(*lambda->getCallOperator())) return clang::DynamicRecursiveASTVisitor::TraverseLambdaExpr(lambda);
    auto& [range, words] = bodies[lambda->getBody()->getBeginLoc().getRawEncoding()];
    range = lambda->getBody()->getSourceRange();
    words += "{" + lambda->getCallOperator()->getType().getAsString() + ";";
    for (auto* field : lambda->getLambdaClass()->fields()) words += field->getType().getAsString() + ";";
    std::set<const clang::ValueDecl*> captured;
    for (auto& capture : lambda->captures()) {
      words += capture.capturesVariable() ? capture.getCapturedVar()->getNameAsString() + ";" : "this;";
      if (capture.capturesVariable()) captured.insert(capture.getCapturedVar());
    }
    // Constants of the function around it: whether naming one captures it is not the same to all compilers.
    for (auto& name : Around(*lambda, captured).names) words += name + ";";
    words += "}";
    return true;
  }
  /// By where each begins: positions of one file are in its order.
  std::map<unsigned, std::pair<SourceRange, std::string>> bodies;
};

class Declarations : public clang::DynamicRecursiveASTVisitor {
 public:
  Declarations(AdmissionRecorder recorder, clang::ASTContext& context) : recorder_(recorder), context_(context) {}

  bool VisitDecl(clang::Decl* decl) override {
    for (auto* attribute : decl->attrs()) {
      if (attribute->isImplicit() || attribute->isInherited() || is_free(attribute->getKind())) continue;
      bool label = attribute->getKind() == clang::attr::AsmLabel;
      if (attribute->getLocation().isInvalid() && !label) continue;  // Made by the compiler.
      add(label ? "asm-label" : "attribute", recorder_.text(attribute->getRange()),
          label ? decl->getLocation() : attribute->getLocation());
    }
    return true;
  }

  bool VisitFunctionDecl(clang::FunctionDecl* function) override {
    auto* primary = function->getPrimaryTemplate();
    if (primary && function->getTemplateSpecializationKind() == clang::TSK_ExplicitSpecialization)
      add_specialization(*function, primary->getLocation());
    if (auto* guide = llvm::dyn_cast<clang::CXXDeductionGuideDecl>(function)) {
      if (!guide->isImplicit()) add_specialization(*guide, guide->getDeducedTemplate()->getLocation());
      return true;
    }
    if (is_lambda_of_device(*function)) return true;
    const bool is_member = llvm::isa<clang::CXXMethodDecl>(function);
    if (function->isImplicit() || function->isDefaulted() || (function->isDeleted() && is_member)) return true;
    if (!on_device(*function)) add("host-function", host_text(*function), function->getLocation());
    else if (auto* host = function->getAttr<clang::CUDAHostAttr>())
      add("host-function", signature(*function), function->getLocation(),
          host->isImplicit() ? "host code can call a constexpr function that is not marked __device__" : "");
    return true;
  }

  bool TraverseDecl(clang::Decl* decl) override {
    auto* function = llvm::dyn_cast_or_null<clang::FunctionDecl>(decl);
    if (function) inside_.push_back(function);
    const bool all = clang::DynamicRecursiveASTVisitor::TraverseDecl(decl);
    if (function) inside_.pop_back();
    return all;
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* name) override {
    if (auto* function = llvm::dyn_cast<clang::FunctionDecl>(name->getDecl())) named({function}, name->getLocation());
    return true;
  }
  bool VisitMemberExpr(clang::MemberExpr* name) override {
    if (auto* function = llvm::dyn_cast<clang::FunctionDecl>(name->getMemberDecl()))
      named({function}, name->getMemberLoc());
    return true;
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* made) override {
    named({made->getConstructor()}, made->getLocation());
    return true;
  }
  bool VisitUnresolvedLookupExpr(clang::UnresolvedLookupExpr* name) override {
    named_any(*name);
    return true;
  }
  bool VisitUnresolvedMemberExpr(clang::UnresolvedMemberExpr* name) override {
    named_any(*name);
    return true;
  }

  /// Whether an expression has a meaning may depend on what the application has beside the kernel.
  bool VisitRequiresExpr(clang::RequiresExpr* question) override {
    add("detection", recorder_.text(question->getSourceRange()), question->getBeginLoc(), kDetection);
    return true;
  }
  bool VisitDecltypeTypeLoc(clang::DecltypeTypeLoc type) override {
    if (auto* of = type.getUnderlyingExpr()) detects(*of);
    return true;
  }
  bool VisitCXXNoexceptExpr(clang::CXXNoexceptExpr* question) override {
    detects(*question->getOperand());
    return true;
  }
  bool VisitUnaryExprOrTypeTraitExpr(clang::UnaryExprOrTypeTraitExpr* question) override {
    if (!question->isArgumentType()) detects(*question->getArgumentExpr());
    return true;
  }
  /// The calls of names that nothing declared: the instance finds them, by the types of its arguments, or does not.
  void end() {
    for (auto& [name, at] : absent_)
      if (!declared_.contains(name))
        add("absent-name", name, at, "nothing declares the function, and the application may");
  }

  bool VisitUsingDirectiveDecl(clang::UsingDirectiveDecl* directive) override {
    if (!directive->isImplicit()) add_using(*directive);
    return true;
  }
  bool VisitUsingDecl(clang::UsingDecl* declaration) override {
    add_using(*declaration);
    return true;
  }
  bool VisitUsingEnumDecl(clang::UsingEnumDecl* declaration) override {
    add_using(*declaration);
    return true;
  }
  bool VisitNamespaceDecl(clang::NamespaceDecl* space) override {
    bool known = !space->isAnonymousNamespace() && !recorder_.in_source(space->getFirstDecl()->getLocation());
    if (known) add("namespace", space->getQualifiedNameAsString(), space->getLocation());
    return true;
  }
  bool VisitClassTemplateSpecializationDecl(clang::ClassTemplateSpecializationDecl* type) override {
    if (type->getSpecializationKind() == clang::TSK_ExplicitSpecialization)
      add_specialization(*type, type->getSpecializedTemplate()->getLocation());
    return true;
  }
  bool VisitVarTemplateSpecializationDecl(clang::VarTemplateSpecializationDecl* variable) override {
    if (variable->getSpecializationKind() == clang::TSK_ExplicitSpecialization)
      add_specialization(*variable, variable->getSpecializedTemplate()->getLocation());
    return true;
  }

  /// What a name means to host code behind: in a namespace a new name hides a header's of an enclosing one.
  bool VisitNamedDecl(clang::NamedDecl* named) override {
    if (named->getAsFunction()) declared_.insert(named->getNameAsString());
    const clang::DeclContext* scope = named->getDeclContext()->getRedeclContext();
    auto* record = llvm::dyn_cast<clang::RecordDecl>(scope);
    if (record && named->isOutOfLine()) add_specialization(*named, record->getLocation());
    if (!scope->isNamespace() || named->isImplicit() || named->isTemplateParameter() ||
        llvm::isa<clang::ParmVarDecl>(named) || !recorder_.in_source(named->getCanonicalDecl()->getLocation()))
      return true;
    // A device function that hides one for the host is an error there.
    auto* function = named->getAsFunction();
    if (function && (on_device(*function) && !function->hasAttr<clang::CUDAHostAttr>())) return true;
    if (is_of_headers(named->getDeclName(), scope->getParent()))
      add("hidden-name", named->getQualifiedNameAsString(), named->getLocation());
    return true;
  }

  bool VisitVarDecl(clang::VarDecl* variable) override {
    if (!variable->hasGlobalStorage() || variable->isImplicit()) return true;
    if (is_written<clang::CUDASharedAttr>(*variable)) return true;
    // To a constant of the host clang adds __constant__ itself.
    if (is_device_variable(*variable)) {
      // What clang folds, another compiler may compute in the host program when it starts.
      if (auto* made = variable->getAnyInitializer(); made && !is_data(*made))
        add("host-initialiser", recorder_.text(variable->getSourceRange()), variable->getLocation());
      return true;
    }
    auto* owner = llvm::dyn_cast<clang::FunctionDecl>(variable->getDeclContext());
    if (owner && on_device(*owner)) return true;
    const clang::Expr* initial = variable->getAnyInitializer();
    // A named constant is folded into device code; the host runs no code for it, and has none that nothing uses. That
    // clang can fold an initialiser says nothing of the next compiler, unless it must, or there is nothing to run.
    bool constant =
        variable->isConstexpr() || (initial && variable->getType()->isArithmeticType() && is_arithmetic(*initial) &&
                                    initial->isConstantInitializer(context_, false));
    if (constant && variable->getType().isConstQualified() && !context_.DeclMustBeEmitted(variable)) return true;
    add(initial && !constant ? "host-initialiser" : "host-variable", recorder_.text(variable->getSourceRange()),
        variable->getLocation());
    return true;
  }

  bool VisitFileScopeAsmDecl(clang::FileScopeAsmDecl* decl) override {
    add("file-scope-asm", recorder_.text(decl->getSourceRange()), decl->getLocation());
    return true;
  }
  bool VisitAsmStmt(clang::AsmStmt* statement) override {
    add("inline-asm", recorder_.text(statement->getSourceRange()), statement->getAsmLoc());
    return true;
  }
  bool VisitCallExpr(clang::CallExpr* call) override {
    auto* name = llvm::dyn_cast<clang::UnresolvedLookupExpr>(call->getCallee()->IgnoreParens());
    if (name && name->requiresADL() && name->decls().empty())
      absent_.emplace_back(name->getName().getAsString(), call->getBeginLoc());
    const unsigned builtin = call->getBuiltinCallee();
    if (builtin == clang::Builtin::BI__builtin_assume || builtin == clang::Builtin::BI__assume ||
        builtin == clang::Builtin::BI__builtin_assume_aligned || builtin == clang::Builtin::BI__builtin_unreachable)
      add("promise", recorder_.text(call->getSourceRange()), call->getBeginLoc());
    return true;
  }

  bool VisitCUDAKernelCallExpr(clang::CUDAKernelCallExpr* call) override {
    add("launch", recorder_.text_with(call->getSourceRange(), lambdas_), call->getBeginLoc());
    return true;
  }

 private:
  static constexpr const char* kDetection =
      "it asks whether an expression has a meaning, which may depend on what the application has beside the kernel";

  void add(const char* rule, std::string text, SourceLocation at, std::string why = {}) {
    // Constructs without a location occur only inside declarations of the main file, so they count as part of it.
    if (at.isInvalid() || recorder_.in_source(at)) recorder_.add(rule, std::move(text), at, std::move(why));
  }

  /// True if only the host has the function, and no constant expression can call it. std::declval has no body.
  static bool is_host_only(const clang::NamedDecl& decl) {
    auto* function = decl.getUnderlyingDecl()->getAsFunction();
    return function && !on_device(*function) && !function->isConstexprSpecified() && !function->isImplicit() &&
           !function->isDefaulted() && !function->isDeleted() && function->getNameAsString() != "declval";
  }
  /// Code that clang discards, or never instantiates, may be what the next compiler runs.
  void named(std::initializer_list<const clang::NamedDecl*> choices, SourceLocation at) {
    if (choices.size() == 0 || !std::ranges::all_of(choices, [](auto* one) { return is_host_only(*one); })) return;
    name_host(**choices.begin(), at);
  }
  void named_any(const clang::OverloadExpr& name) {
    const bool any = name.decls_begin() != name.decls_end();
    if (any && std::all_of(name.decls_begin(), name.decls_end(), [](auto* one) { return is_host_only(*one); }))
      name_host(**name.decls_begin(), name.getNameLoc());
  }
  void name_host(const clang::NamedDecl& function, SourceLocation at) {
    add("host-call",
        function.getQualifiedNameAsString() + "\nin " + (inside_.empty() ? std::string() : signature(*inside_.back())),
        at, "it is a function of the host");
  }

  /// A lambda within device code is the device's, though clang takes what may be a constant expression for both sides'.
  static bool is_lambda_of_device(const clang::FunctionDecl& function) {
    auto is_lambda = [](const clang::FunctionDecl& one) {
      auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&one);
      return method && method->getParent()->isLambda();
    };
    if (!is_lambda(function)) return false;
    for (auto* scope = function.getParent(); scope; scope = scope->getParent())
      if (auto* around = llvm::dyn_cast<clang::FunctionDecl>(scope)) {
        const bool of_device = on_device(*around) && !around->hasAttr<clang::CUDAHostAttr>();
        if (of_device || !is_lambda(*around)) return of_device;
      }
    return false;
  }

  void detects(const clang::Expr& of) {
    if (of.isInstantiationDependent() && asks(of))
      add("detection", recorder_.text(of.getSourceRange()), of.getBeginLoc(), kDetection);
  }
  /// True if the expression calls something, or an operator, that the types of its operands choose.
  static bool asks(const clang::Stmt& of) {
    if (auto* part = llvm::dyn_cast<clang::Expr>(&of); part && part->isTypeDependent())
      if (llvm::isa<clang::CallExpr, clang::BinaryOperator, clang::UnaryOperator, clang::ArraySubscriptExpr>(part))
        return true;
    return std::ranges::any_of(of.children(), [](auto* child) { return child && asks(*child); });
  }

  /// True if it is made of texts and of what is_arithmetic(), so that nothing but the compiler's functions is called.
  static bool is_data(const clang::Expr& initial) {
    const clang::Expr* of = initial.IgnoreParenImpCasts();
    if (auto* list = llvm::dyn_cast<clang::InitListExpr>(of))
      return std::ranges::all_of(list->inits(), [](auto* one) { return is_data(*one); }) &&
             (!list->hasArrayFiller() || is_data(*list->getArrayFiller()));
    if (auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(of))
      return made->getConstructor()->isTrivial() &&
             std::ranges::all_of(made->arguments(), [](auto* one) { return is_data(*one); });
    if (auto* member = llvm::dyn_cast<clang::CXXDefaultInitExpr>(of)) return is_data(*member->getExpr());
    auto* call = llvm::dyn_cast<clang::CallExpr>(of);
    return (call && call->getBuiltinCallee() && call->getNumArgs() == 0) ||  // `INFINITY`
           llvm::isa<clang::StringLiteral, clang::ImplicitValueInitExpr, clang::CXXNullPtrLiteralExpr,
                     clang::TypeTraitExpr>(of) ||
           is_arithmetic(*of);
  }
  /// True if it is made of numbers, named constants and operators, so that nothing is called.
  static bool is_arithmetic(const clang::Expr& initial) {
    const clang::Expr* of = initial.IgnoreParenImpCasts();
    if (of->isInstantiationDependent() || !of->getType()->isArithmeticType()) return false;
    if (llvm::isa<clang::IntegerLiteral, clang::FloatingLiteral, clang::CharacterLiteral, clang::CXXBoolLiteralExpr>(
            of))
      return true;
    if (auto* name = llvm::dyn_cast<clang::DeclRefExpr>(of))
      return llvm::isa<clang::EnumConstantDecl>(name->getDecl()) || name->getDecl()->getType().isConstQualified();
    if (auto* size = llvm::dyn_cast<clang::UnaryExprOrTypeTraitExpr>(of)) return size->isArgumentType();
    if (auto* list = llvm::dyn_cast<clang::InitListExpr>(of))
      return list->getNumInits() == 1 && is_arithmetic(*list->getInit(0));
    if (!llvm::isa<clang::UnaryOperator, clang::BinaryOperator, clang::ConditionalOperator, clang::ExplicitCastExpr>(
            of))
      return false;
    return std::ranges::all_of(of->children(), [](auto* child) {
      auto* part = llvm::dyn_cast_or_null<clang::Expr>(child);
      return part && is_arithmetic(*part);
    });
  }
  /// Attributes that device code may have: they neither move code elsewhere nor run it at another time.
  static bool is_free(clang::attr::Kind kind) {
    switch (kind) {
      case clang::attr::CUDADevice:
      case clang::attr::CUDAGlobal:
      case clang::attr::CUDAHost:
      case clang::attr::CUDAShared:
      case clang::attr::CUDAConstant:
      case clang::attr::CUDALaunchBounds:
      case clang::attr::CUDAGridConstant:
      case clang::attr::CUDAClusterDims:
      case clang::attr::HIPManaged:
      case clang::attr::AMDGPUFlatWorkGroupSize:
      case clang::attr::AlwaysInline:
      case clang::attr::NoInline:
      case clang::attr::Flatten:
      case clang::attr::Hot:
      case clang::attr::Cold:
      case clang::attr::Aligned:
      case clang::attr::Unused:
      case clang::attr::WarnUnusedResult:
      case clang::attr::Final:
      case clang::attr::Override:
      case clang::attr::LoopHint: return true;
      default: return false;
    }
  }

  /// True if a header declares the name in this scope or in one around it.
  bool is_of_headers(clang::DeclarationName name, const clang::DeclContext* scope) const {
    for (; scope && !name.isEmpty(); scope = scope->getParent()) {
      if (!scope->isFileContext() || scope->isTransparentContext()) continue;
      for (auto* other : scope->lookup(name))
        if (!recorder_.in_source(other->getLocation())) return true;
    }
    return false;
  }

  /// Of a function for both sides its body may change, which the patch's proof judges.
  static std::string signature(const clang::FunctionDecl& function) {
    return function.getQualifiedNameAsString() + " " + function.getType().getAsString();
  }

  /// The function's text, with what its lambdas capture in place of the bodies that the device runs. Which variables a
  /// body names decides what `[=]` captures, and so what the host passes to the kernel.
  std::string host_text(const clang::FunctionDecl& function) {
    DeviceLambdas lambdas(function);
    lambdas_.insert(lambdas.bodies.begin(), lambdas.bodies.end());
    return recorder_.text_with(function.getSourceRange(), lambdas.bodies);
  }

  void add_using(const clang::NamedDecl& declaration) {
    // Inside a function or class it changes what no other code means.
    if (declaration.getDeclContext()->isFileContext())
      add("using", recorder_.text(declaration.getSourceRange()), declaration.getLocation());
  }
  void add_specialization(const clang::NamedDecl& special, SourceLocation primary) {
    if (!recorder_.in_source(primary)) add("specialization", special.getQualifiedNameAsString(), special.getLocation());
  }

  AdmissionRecorder recorder_;
  clang::ASTContext& context_;
  std::vector<const clang::FunctionDecl*> inside_;  ///< Those that the visitor is in, the innermost last.
  std::set<std::string> declared_;                  ///< Names of the source's functions.
  std::vector<std::pair<std::string, SourceLocation>> absent_;
  /// Of the host functions so far, and what they capture.
  std::map<unsigned, std::pair<SourceRange, std::string>> lambdas_;
};

class Watcher : public clang::ASTConsumer {
 public:
  Watcher(AdmissionRecorder recorder, clang::Preprocessor& preprocessor)
      : recorder_(recorder), preprocessor_(preprocessor) {
    preprocessor.addPPCallbacks(std::make_unique<Directives>(recorder, macros_));
  }
  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    for (clang::Decl* decl : group)
      if (recorder_.in_source(decl->getBeginLoc()) || recorder_.in_source(decl->getLocation()))
        written_.push_back(decl);
    return true;
  }
  void HandleTranslationUnit(clang::ASTContext& context) override {
    Declarations declarations(recorder_, context);
    for (clang::Decl* decl : written_) declarations.TraverseDecl(decl);
    declarations.end();
    const auto tokens = source_tokens(std::string_view(recorder_.source()));
    read_reserved(context, tokens);
    read_questions(tokens);
    for (clang::Decl* decl : written_) note_seen_declarations(recorder_, *decl);
    for (auto* macro : macros_)
      if (is_known(context, *macro)) recorder_.add("macro", macro->getName().str(), recorder_.begin());
  }

 private:
  /// Words like those of intrinsics (written_text.h), which the tokens alone do not tell from a compiler's own macros.
  void read_reserved(clang::ASTContext& context, const std::vector<SourceToken>& tokens) {
    std::set<std::string> seen;
    for (auto& token : tokens) {
      if (token.kind != SourceToken::Kind::Identifier || !is_like_an_intrinsic(token.text) ||
          is_device_word(token.text) || token.text.starts_with("__has_") || !seen.insert(token.text).second)
        continue;
      clang::IdentifierInfo* name = preprocessor_.getIdentifierInfo(token.text);
      if (name->hasMacroDefinition() || token.text.starts_with("__nvvm_")) continue;  // Judged where it is expanded.
      if (!is_of_a_header(context, *name))
        recorder_.add("reserved", token.text, recorder_.at(token.offset), "no header declares it for device code");
    }
  }
  /// Words by which a text could learn which compiler reads it: what an index variable is as a whole, and whether a
  /// type can be made, copied or called. Those of the kernel's own text are known with the words around them.
  void read_questions(const std::vector<SourceToken>& tokens) {
    static const std::set<std::string_view> kIndices{"threadIdx", "blockIdx", "blockDim", "gridDim"};
    static constexpr std::string_view kAsked[] = {"constructible", "assignable", "destructible", "invocable",
                                                  "invoke_result", "result_of",  "swappable",    "convertible",
                                                  "copyable",      "is_trivial", "is_nothrow",   "standard_layout"};
    for (size_t i = 0; i < tokens.size(); ++i) {
      const std::string& word = tokens[i].text;
      if (tokens[i].kind != SourceToken::Kind::Identifier) continue;
      const bool axis = i + 2 < tokens.size() && tokens[i + 1].is(".") &&
                        (tokens[i + 2].is("x") || tokens[i + 2].is("y") || tokens[i + 2].is("z"));
      const bool asks = std::ranges::any_of(kAsked, [&](auto part) { return word.find(part) != word.npos; });
      if (!asks && (!kIndices.contains(word) || axis)) continue;
      constexpr size_t kAround = 2;
      const size_t begin = i < kAround ? 0 : i - kAround;
      recorder_.add("detection", joined(tokens, begin, std::min(i + kAround, tokens.size())),
                    recorder_.at(tokens[i].offset),
                    "compilers differ in it, so a text can learn by it which one reads it");
    }
  }
  bool is_of_a_header(clang::ASTContext& context, const clang::IdentifierInfo& name) const {
    for (auto* decl : context.getTranslationUnitDecl()->lookup(&name))
      if (!recorder_.in_source(decl->getLocation())) return true;
    return false;
  }

  /// True if a header declares the name at file scope, or the compiler knows it. A patch is compared with every name
  /// that its unit reads.
  bool is_known(clang::ASTContext& context, const clang::IdentifierInfo& macro) const {
    return macro.getBuiltinID() != 0 || is_of_a_header(context, macro);
  }

  AdmissionRecorder recorder_;
  clang::Preprocessor& preprocessor_;
  std::vector<clang::Decl*> written_;
  std::vector<const clang::IdentifierInfo*> macros_;  ///< Those that the source defines.
};

}  // namespace

std::unique_ptr<clang::ASTConsumer> watch_admission(clang::CompilerInstance& compiler,
                                                    std::vector<AdmissionFinding>& findings) {
  return std::make_unique<Watcher>(AdmissionRecorder(compiler, findings), compiler.getPreprocessor());
}

std::string first_refusal(const std::vector<AdmissionFinding>& findings, const std::set<std::string>& own) {
  for (auto& finding : findings)
    if (!own.contains(finding.identity()) && !declares_new_name(finding, own))
      return refusal_text(finding.rule, finding.text, finding.place, finding.why);
  return {};
}

}  // namespace kernelift::sandbox
