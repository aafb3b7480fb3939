// The AST visitor examines declarations in the main file as they are written: templates, not their instances. The
// preprocessor callbacks see skipped blocks and the pragmas of macros, which are not in the AST.
#include "sandbox/compile/admission.h"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/DynamicRecursiveASTVisitor.h>
#include <clang/AST/ExprCXX.h>
#include <clang/Basic/Builtins.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Lex/Lexer.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>

#include <filesystem>
#include <map>

#include "core/compiler/written_text.h"

namespace kernelift::sandbox {
namespace {

using clang::CharSourceRange;
using clang::SourceLocation;
using clang::SourceRange;

class Recorder {
 public:
  Recorder(clang::CompilerInstance& compiler, std::vector<AdmissionFinding>& findings)
      : sources_(compiler.getSourceManager()), language_(compiler.getLangOpts()), findings_(findings) {}

  bool in_source(SourceLocation at) const {  // By file, ignoring #line.
    return at.isValid() && sources_.getFileID(sources_.getExpansionLoc(at)) == sources_.getMainFileID();
  }
  bool is_spelled_in_source(SourceLocation at) const {
    return at.isValid() && sources_.getFileID(sources_.getSpellingLoc(at)) == sources_.getMainFileID();
  }

  void add(const char* rule, std::string text, SourceLocation at) {
    auto place = sources_.getExpansionLoc(at);
    std::string name = std::filesystem::path(sources_.getFilename(place).str()).filename();
    findings_.push_back({rule, std::move(text), name + ":" + std::to_string(sources_.getExpansionLineNumber(place))});
  }

  std::string text(SourceRange range) const {
    return clang::Lexer::getSourceText(CharSourceRange::getTokenRange(sources_.getExpansionRange(range).getAsRange()),
                                       sources_, language_)
        .str();
  }
  /// The text with other words in place of some of its parts. A part that a macro spells stays as it is.
  std::string text_with(SourceRange range, const std::map<unsigned, std::pair<SourceRange, std::string>>& parts) const {
    const std::string whole = text(range);
    const SourceLocation begin = sources_.getExpansionLoc(range.getBegin());
    if (!sources_.isWrittenInSameFile(begin, sources_.getExpansionLoc(range.getEnd()))) return whole;
    const unsigned start = sources_.getFileOffset(begin), size = static_cast<unsigned>(whole.size());
    std::string changed;
    unsigned done = 0;
    for (auto& [place, part] : parts) {
      const auto& [inner, words] = part;
      if (inner.getBegin().isMacroID() || inner.getEnd().isMacroID()) continue;
      const unsigned from = sources_.getFileOffset(inner.getBegin()), to = sources_.getFileOffset(inner.getEnd()) + 1;
      if (from < start + done || to < from || to - start > size) continue;
      changed += whole.substr(done, from - start - done) + words;
      done = to - start;
    }
    return changed + whole.substr(done);
  }
  SourceLocation begin() const { return sources_.getLocForStartOfFile(sources_.getMainFileID()); }

 private:
  const clang::SourceManager& sources_;
  const clang::LangOptions& language_;
  std::vector<AdmissionFinding>& findings_;
};

/// What the tokens of the text do not show: what macros of headers become, and what is skipped.
class Directives : public clang::PPCallbacks {
 public:
  Directives(Recorder recorder, std::vector<const clang::IdentifierInfo*>& macros)
      : recorder_(recorder), macros_(macros) {}

  void MacroDefined(const clang::Token& name, const clang::MacroDirective* directive) override {
    if (!recorder_.in_source(name.getLocation())) return;
    macros_.push_back(name.getIdentifierInfo());
    // The headers' own macro: host code behind the kernel may use it.
    for (auto* before = directive->getPrevious(); before; before = before->getPrevious())
      if (!recorder_.in_source(before->getLocation()))
        return recorder_.add("macro", name.getIdentifierInfo()->getName().str(), name.getLocation());
  }
  void PragmaDirective(SourceLocation at, clang::PragmaIntroducerKind) override {
    if (!recorder_.in_source(at) || recorder_.is_spelled_in_source(at)) return;
    recorder_.add("pragma", recorder_.text({at, at}), at);
  }
  void SourceRangeSkipped(SourceRange range, SourceLocation) override {
    if (recorder_.in_source(range.getBegin())) recorder_.add("inactive-code", recorder_.text(range), range.getBegin());
  }

 private:
  Recorder recorder_;
  std::vector<const clang::IdentifierInfo*>& macros_;
};

bool on_device(const clang::FunctionDecl& function) {
  return function.hasAttr<clang::CUDADeviceAttr>() || function.hasAttr<clang::CUDAGlobalAttr>();
}

template <class Attribute>
bool is_written(const clang::Decl& decl) {
  auto* attribute = decl.getAttr<Attribute>();
  return attribute && !attribute->isImplicit();
}

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
    for (auto& capture : lambda->captures())
      words += capture.capturesVariable() ? capture.getCapturedVar()->getNameAsString() + ";" : "this;";
    words += "}";
    return true;
  }
  /// By where each begins: positions of one file are in its order.
  std::map<unsigned, std::pair<SourceRange, std::string>> bodies;
};

class Declarations : public clang::DynamicRecursiveASTVisitor {
 public:
  Declarations(Recorder recorder, clang::ASTContext& context) : recorder_(recorder), context_(context) {}

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
    const bool is_member = llvm::isa<clang::CXXMethodDecl>(function);
    if (function->isImplicit() || function->isDefaulted() || (function->isDeleted() && is_member)) return true;
    if (!on_device(*function)) add("host-function", host_text(*function), function->getLocation());
    else if (is_for_host_too(*function)) add("host-function", signature(*function), function->getLocation());
    return true;
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
    // To a constant of the host clang adds __constant__ itself.
    if (is_written<clang::CUDADeviceAttr>(*variable) || is_written<clang::CUDAConstantAttr>(*variable) ||
        is_written<clang::CUDASharedAttr>(*variable) || is_written<clang::HIPManagedAttr>(*variable))
      return true;
    auto* owner = llvm::dyn_cast<clang::FunctionDecl>(variable->getDeclContext());
    if (owner && on_device(*owner)) return true;
    const clang::Expr* initial = variable->getAnyInitializer();
    bool constant = variable->isConstexpr() ||
                    (initial && !initial->isValueDependent() && initial->isConstantInitializer(context_, false));
    // A named constant is folded into device code; the host runs no code for it, and has none that nothing uses.
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
    const unsigned builtin = call->getBuiltinCallee();
    if (builtin == clang::Builtin::BI__builtin_assume || builtin == clang::Builtin::BI__assume ||
        builtin == clang::Builtin::BI__builtin_unreachable)
      add("promise", recorder_.text(call->getSourceRange()), call->getBeginLoc());
    return true;
  }

  bool VisitCUDAKernelCallExpr(clang::CUDAKernelCallExpr* call) override {
    add("launch", recorder_.text_with(call->getSourceRange(), lambdas_), call->getBeginLoc());
    return true;
  }

 private:
  void add(const char* rule, std::string text, SourceLocation at) {
    // Constructs without a location occur only inside declarations of the main file, so they count as part of it.
    if (at.isInvalid() || recorder_.in_source(at)) recorder_.add(rule, std::move(text), at);
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
      case clang::attr::Const:
      case clang::attr::Pure:
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

  /// A function that host code could call: marked for both, or constexpr and an operator or under a header's name.
  bool is_for_host_too(const clang::FunctionDecl& function) const {
    auto* host = function.getAttr<clang::CUDAHostAttr>();
    if (!host) return false;
    if (!host->isImplicit()) return true;
    if (llvm::isa<clang::CXXMethodDecl>(function)) return false;
    return !function.getDeclName().isIdentifier() ||
           is_of_headers(function.getDeclName(), function.getDeclContext()->getRedeclContext());
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

  Recorder recorder_;
  clang::ASTContext& context_;
  /// Of the host functions so far, and what they capture.
  std::map<unsigned, std::pair<SourceRange, std::string>> lambdas_;
};

class Watcher : public clang::ASTConsumer {
 public:
  Watcher(Recorder recorder, clang::Preprocessor& preprocessor) : recorder_(recorder) {
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
    for (auto* macro : macros_)
      if (is_known(context, *macro)) recorder_.add("macro", macro->getName().str(), recorder_.begin());
  }

 private:
  /// True if a header declares the name at file scope, or the compiler knows it. A patch is compared with every name
  /// that its unit reads.
  bool is_known(clang::ASTContext& context, const clang::IdentifierInfo& macro) const {
    if (macro.getBuiltinID() != 0) return true;
    for (auto* decl : context.getTranslationUnitDecl()->lookup(&macro))
      if (!recorder_.in_source(decl->getLocation())) return true;
    return false;
  }

  Recorder recorder_;
  std::vector<clang::Decl*> written_;
  std::vector<const clang::IdentifierInfo*> macros_;  ///< Those that the source defines.
};

}  // namespace

std::unique_ptr<clang::ASTConsumer> watch_admission(clang::CompilerInstance& compiler,
                                                    std::vector<AdmissionFinding>& findings) {
  return std::make_unique<Watcher>(Recorder(compiler, findings), compiler.getPreprocessor());
}

std::string first_refusal(const std::vector<AdmissionFinding>& findings, const std::set<std::string>& own) {
  for (auto& finding : findings)
    if (!own.contains(finding.identity())) return refusal_text(finding.rule, finding.text, finding.place);
  return {};
}

}  // namespace kernelift::sandbox
