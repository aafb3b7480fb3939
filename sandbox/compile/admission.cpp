// The AST visitor examines declarations in the main file as they are written: templates, not their instances. The
// preprocessor callbacks see directives and skipped blocks, which are not in the AST.
#include "sandbox/compile/admission.h"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/DynamicRecursiveASTVisitor.h>
#include <clang/AST/ExprCXX.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Lex/Lexer.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>

#include <filesystem>

namespace kernelift::sandbox {
namespace {

using clang::CharSourceRange;
using clang::SourceLocation;
using clang::SourceRange;

/// Pragmas that only advise the optimiser, which candidates may change freely.
constexpr std::string_view kFreePragmas[] = {"unroll",     "nounroll",         "clang loop", "clang fp",
                                             "GCC unroll", "STDC FP_CONTRACT", "nv_diag",    "GCC ivdep"};

class Recorder {
 public:
  Recorder(clang::CompilerInstance& compiler, std::vector<AdmissionFinding>& findings)
      : sources_(compiler.getSourceManager()), language_(compiler.getLangOpts()), findings_(findings) {}

  bool in_source(SourceLocation at) const {  // By file, ignoring #line.
    return at.isValid() && sources_.getFileID(sources_.getExpansionLoc(at)) == sources_.getMainFileID();
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
  /// From `at` to the end of its line.
  std::string rest_of_line(SourceLocation at) const {
    auto text = sources_.getBufferData(sources_.getMainFileID()).drop_front(sources_.getFileOffset(at));
    return text.take_until([](char c) { return c == '\n'; }).rtrim().str();
  }
  const clang::SourceManager& sources() const { return sources_; }

 private:
  const clang::SourceManager& sources_;
  const clang::LangOptions& language_;
  std::vector<AdmissionFinding>& findings_;
};

class Directives : public clang::PPCallbacks {
 public:
  explicit Directives(Recorder recorder) : recorder_(recorder) {}

  void InclusionDirective(SourceLocation hash, const clang::Token&, clang::StringRef name, bool angled, CharSourceRange,
                          clang::OptionalFileEntryRef, clang::StringRef, clang::StringRef, const clang::Module*, bool,
                          clang::SrcMgr::CharacteristicKind) override {
    if (recorder_.in_source(hash))
      recorder_.add("include", (angled ? "<" : "\"") + name.str() + (angled ? ">" : "\""), hash);
  }
  void HasInclude(SourceLocation at, clang::StringRef name, bool, clang::OptionalFileEntryRef,
                  clang::SrcMgr::CharacteristicKind) override {
    if (recorder_.in_source(at)) recorder_.add("probe", name.str(), at);
  }
  void HasEmbed(SourceLocation at, clang::StringRef name, bool, clang::OptionalFileEntryRef) override {
    if (recorder_.in_source(at)) recorder_.add("probe", name.str(), at);
  }
  void PragmaDirective(SourceLocation at, clang::PragmaIntroducerKind) override {
    if (!recorder_.in_source(at)) return;
    // The text of a pragma in a macro is not at this location: then the macro's use is recorded, and always a finding.
    std::string line = recorder_.rest_of_line(recorder_.sources().getExpansionLoc(at));
    llvm::StringRef words = line;
    if (words.consume_front("#")) {
      words = words.ltrim();
      words.consume_front("pragma");
    } else if (words.consume_front("_Pragma")) {
      words = words.ltrim().ltrim("(").ltrim().ltrim("\"");
    } else {
      words = {};
    }
    for (auto free : kFreePragmas)
      if (words.ltrim().starts_with(free)) return;
    recorder_.add("pragma", line, at);
  }
  void SourceRangeSkipped(SourceRange range, SourceLocation) override {
    if (recorder_.in_source(range.getBegin())) recorder_.add("inactive-code", recorder_.text(range), range.getBegin());
  }

 private:
  Recorder recorder_;
};

bool on_device(const clang::FunctionDecl& function) {
  return function.hasAttr<clang::CUDADeviceAttr>() || function.hasAttr<clang::CUDAGlobalAttr>();
}

class Declarations : public clang::DynamicRecursiveASTVisitor {
 public:
  Declarations(Recorder recorder, clang::ASTContext& context) : recorder_(recorder), context_(context) {}

  bool VisitDecl(clang::Decl* decl) override {
    for (auto* attribute : decl->attrs()) switch (attribute->getKind()) {
        case clang::attr::Constructor:
        case clang::attr::Destructor:
        case clang::attr::InitPriority:
        case clang::attr::IFunc:
        case clang::attr::Alias:
        case clang::attr::WeakRef:
        case clang::attr::Section:
        case clang::attr::Cleanup:
          add("attribute", recorder_.text(attribute->getRange()), attribute->getLocation());
          break;
        case clang::attr::AsmLabel: add("asm-label", recorder_.text(attribute->getRange()), decl->getLocation()); break;
        default: break;
      }
    return true;
  }

  bool VisitFunctionDecl(clang::FunctionDecl* function) override {
    if (function->isImplicit() || function->isDefaulted() || function->isDeleted() || on_device(*function) ||
        llvm::isa<clang::CXXDeductionGuideDecl>(function))
      return true;
    add("host-function", recorder_.text(function->getSourceRange()), function->getLocation());
    return true;
  }

  bool VisitVarDecl(clang::VarDecl* variable) override {
    if (!variable->hasGlobalStorage() || variable->isImplicit()) return true;
    if (variable->hasAttr<clang::CUDADeviceAttr>() || variable->hasAttr<clang::CUDAConstantAttr>() ||
        variable->hasAttr<clang::CUDASharedAttr>() || variable->hasAttr<clang::HIPManagedAttr>())
      return true;
    auto* owner = llvm::dyn_cast<clang::FunctionDecl>(variable->getDeclContext());
    if (owner && on_device(*owner)) return true;
    const clang::Expr* initial = variable->getAnyInitializer();
    bool constant = variable->isConstexpr() ||
                    (initial && !initial->isValueDependent() && initial->isConstantInitializer(context_, false));
    // A named constant is folded into device code, and the host runs no code for it.
    if (constant && variable->getType().isConstQualified()) return true;
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
  bool VisitCUDAKernelCallExpr(clang::CUDAKernelCallExpr* call) override {
    add("launch", recorder_.text(call->getSourceRange()), call->getBeginLoc());
    return true;
  }

 private:
  void add(const char* rule, std::string text, SourceLocation at) {
    // Constructs without a location occur only inside declarations of the main file, so they count as part of it.
    if (at.isInvalid() || recorder_.in_source(at)) recorder_.add(rule, std::move(text), at);
  }
  Recorder recorder_;
  clang::ASTContext& context_;
};

/// Searches the text for #embed, because its preprocessor callback is called only after the file has been read.
void find_embeds(const clang::CompilerInstance& compiler, Recorder recorder) {
  const clang::SourceManager& sources = compiler.getSourceManager();
  clang::Lexer lexer(sources.getMainFileID(), sources.getBufferOrFake(sources.getMainFileID()), sources,
                     compiler.getLangOpts());
  clang::Token token;
  bool after_hash = false;
  for (lexer.LexFromRawLexer(token); token.isNot(clang::tok::eof); lexer.LexFromRawLexer(token)) {
    if (after_hash && token.is(clang::tok::raw_identifier) && token.getRawIdentifier() == "embed")
      recorder.add("embed", recorder.rest_of_line(token.getLocation()), token.getLocation());
    after_hash = token.is(clang::tok::hash) && token.isAtStartOfLine();
  }
}

class Watcher : public clang::ASTConsumer {
 public:
  explicit Watcher(Recorder recorder) : recorder_(recorder) {}
  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    for (clang::Decl* decl : group)
      if (recorder_.in_source(decl->getBeginLoc()) || recorder_.in_source(decl->getLocation()))
        written_.push_back(decl);
    return true;
  }
  void HandleTranslationUnit(clang::ASTContext& context) override {
    Declarations declarations(recorder_, context);
    for (clang::Decl* decl : written_) declarations.TraverseDecl(decl);
  }

 private:
  Recorder recorder_;
  std::vector<clang::Decl*> written_;
};

}  // namespace

std::unique_ptr<clang::ASTConsumer> watch_admission(clang::CompilerInstance& compiler,
                                                    std::vector<AdmissionFinding>& findings) {
  Recorder recorder(compiler, findings);
  find_embeds(compiler, recorder);
  compiler.getPreprocessor().addPPCallbacks(std::make_unique<Directives>(recorder));
  return std::make_unique<Watcher>(recorder);
}

std::string first_refusal(const std::vector<AdmissionFinding>& findings, const std::set<std::string>& own) {
  constexpr size_t kShown = 80;
  for (auto& finding : findings) {
    if (own.contains(finding.identity())) continue;
    std::string shown = finding.text.substr(0, finding.text.find('\n')).substr(0, kShown);
    return finding.rule + ": '" + shown + "' (" + finding.place +
           ") is not in the kernel's own source, and a candidate may add only device code";
  }
  return {};
}

}  // namespace kernelift::sandbox
