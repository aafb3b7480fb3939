// See device_functions.h.
#include "core/compiler/device_functions.h"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/DynamicRecursiveASTVisitor.h>
#include <clang/Lex/Lexer.h>

namespace kernelift {
namespace {

using PathOf = std::function<const std::filesystem::path*(clang::FileID)>;

class Noting : public clang::DynamicRecursiveASTVisitor {
 public:
  Noting(const clang::ASTContext& context, const PathOf& path_of, std::vector<DeviceFunction>& functions)
      : sources_(context.getSourceManager()),
        language_(context.getLangOpts()),
        path_of_(path_of),
        functions_(functions) {}

  bool VisitFunctionDecl(clang::FunctionDecl* function) override {
    if (!function->hasAttr<clang::CUDADeviceAttr>() || function->hasAttr<clang::CUDAHostAttr>() ||
        function->hasAttr<clang::CUDAGlobalAttr>() || function->isImplicit() || is_local(*function))
      return true;
    const auto begin = sources_.getDecomposedLoc(sources_.getExpansionLoc(function->getInnerLocStart()));
    if (auto* path = path_of_(begin.first))
      functions_.push_back({function->getQualifiedNameAsString(), seen(*function), *path, begin.second,
                            function->getLocation().isMacroID(), function->isConstexprSpecified(),
                            is_global(*function)});
    return true;
  }

 private:
  static bool is_local(const clang::FunctionDecl& function) {
    if (function.getParentFunctionOrMethod()) return true;
    auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&function);
    return method && method->getParent()->isLambda();
  }
  static bool is_global(const clang::FunctionDecl& function) {
    return !function.isInlined() && !function.getDescribedFunctionTemplate() && !function.isDependentContext() &&
           function.isExternallyVisible();
  }
  std::string text(clang::SourceRange range) const {
    const auto whole = sources_.getExpansionRange(range).getAsRange();
    return clang::Lexer::getSourceText(clang::CharSourceRange::getTokenRange(whole), sources_, language_).str();
  }
  std::string seen(const clang::FunctionDecl& function) const {
    std::string all = function.getType().getCanonicalType().getAsString() + ", " +
                      std::to_string(function.getMinRequiredArguments()) + " needed";
    if (auto* pattern = function.getDescribedFunctionTemplate())
      all += ", " + text(pattern->getTemplateParameters()->getSourceRange());
    if (function.getFriendObjectKind() != clang::Decl::FOK_None) all += ", friend";
    if (function.isDeleted()) all += ", deleted";
    if (auto* condition = function.getTrailingRequiresClause().ConstraintExpr)
      all += ", requires " + text(condition->getSourceRange());
    if (auto* made = llvm::dyn_cast<clang::CXXConstructorDecl>(&function); made && made->isExplicit())
      all += ", explicit";
    if (function.isConstexprSpecified()) all += ", constant: " + text(function.getSourceRange());
    return all;
  }

  const clang::SourceManager& sources_;
  const clang::LangOptions& language_;
  const PathOf& path_of_;
  std::vector<DeviceFunction>& functions_;
};

class Consumer : public clang::ASTConsumer {
 public:
  Consumer(PathOf path_of, std::vector<DeviceFunction>& functions)
      : path_of_(std::move(path_of)), functions_(functions) {}
  void HandleTranslationUnit(clang::ASTContext& context) override {
    auto& sources = context.getSourceManager();
    Noting noting(context, path_of_, functions_);
    auto is_given = [&](const clang::Decl* decl) {
      return path_of_(sources.getFileID(sources.getExpansionLoc(decl->getLocation()))) != nullptr;
    };
    each_decl(*context.getTranslationUnitDecl(), [&](clang::Decl* decl) {
      if (is_given(decl)) noting.TraverseDecl(decl);
    });
  }

 private:
  /// Of namespaces, whichever file opens them.
  static void each_decl(const clang::DeclContext& scope, const std::function<void(clang::Decl*)>& visit) {
    for (clang::Decl* decl : scope.noload_decls())
      if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl>(decl))
        each_decl(*llvm::cast<clang::DeclContext>(decl), visit);
      else visit(decl);
  }

  const PathOf path_of_;
  std::vector<DeviceFunction>& functions_;
};

}  // namespace

std::unique_ptr<clang::ASTConsumer> note_device_functions(PathOf path_of, std::vector<DeviceFunction>& functions) {
  return std::make_unique<Consumer>(std::move(path_of), functions);
}

}  // namespace kernelift
