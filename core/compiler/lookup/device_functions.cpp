// See device_functions.h.
#include "core/compiler/lookup/device_functions.h"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/DynamicRecursiveASTVisitor.h>

namespace kernelift {
namespace {

class Noting : public clang::DynamicRecursiveASTVisitor {
 public:
  Noting(const clang::ASTContext& context, const GivenPath& path_of, std::vector<DeviceFunction>& functions)
      : given_(context, path_of), sources_(context.getSourceManager()), path_of_(path_of), functions_(functions) {}
  void run() {
    given_.each([&](clang::Decl* decl) { TraverseDecl(decl); });
  }

  bool VisitFunctionDecl(clang::FunctionDecl* function) override {
    const bool is_kernel = function->hasAttr<clang::CUDAGlobalAttr>() && function->getDescribedFunctionTemplate();
    const bool is_of_device = function->hasAttr<clang::CUDADeviceAttr>() && !function->hasAttr<clang::CUDAHostAttr>() &&
                              !function->hasAttr<clang::CUDAGlobalAttr>();
    if ((!is_kernel && !is_of_device) || function->isImplicit() || is_local(*function)) return true;
    const auto begin = sources_.getDecomposedLoc(sources_.getExpansionLoc(function->getInnerLocStart()));
    if (auto* path = path_of_(begin.first))
      functions_.push_back({function->getQualifiedNameAsString(), seen(*function), *path, begin.second,
                            function->getLocation().isMacroID(), function->isConstexprSpecified(), is_global(*function),
                            is_visible(*function), is_kernel});
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
  /// A template's pattern has no linkage of its own: whether it is static or in an unnamed namespace is asked.
  static bool is_visible(const clang::FunctionDecl& function) {
    return function.getStorageClass() != clang::SC_Static && !function.isInAnonymousNamespace() &&
           function.getFormalLinkage() != clang::Linkage::Internal && !function.getParentFunctionOrMethod();
  }
  std::string seen(const clang::FunctionDecl& function) const {
    std::string all = function.getType().getCanonicalType().getAsString() + ", " +
                      std::to_string(function.getMinRequiredArguments()) + " needed";
    if (auto* pattern = function.getDescribedFunctionTemplate())
      all += ", " + given_.text(pattern->getTemplateParameters()->getSourceRange());
    if (function.getFriendObjectKind() != clang::Decl::FOK_None) all += ", friend";
    if (function.isDeleted()) all += ", deleted";
    if (auto* condition = function.getTrailingRequiresClause().ConstraintExpr)
      all += ", requires " + given_.text(condition->getSourceRange());
    if (auto* made = llvm::dyn_cast<clang::CXXConstructorDecl>(&function); made && made->isExplicit())
      all += ", explicit";
    if (function.isConstexprSpecified()) all += ", constant: " + given_.text(function.getSourceRange());
    return all;
  }

  const GivenDecls given_;
  const clang::SourceManager& sources_;
  const GivenPath& path_of_;
  std::vector<DeviceFunction>& functions_;
};

class Consumer : public clang::ASTConsumer {
 public:
  Consumer(GivenPath path_of, std::vector<DeviceFunction>& functions)
      : path_of_(std::move(path_of)), functions_(functions) {}
  void HandleTranslationUnit(clang::ASTContext& context) override { Noting(context, path_of_, functions_).run(); }

 private:
  const GivenPath path_of_;
  std::vector<DeviceFunction>& functions_;
};

}  // namespace

std::unique_ptr<clang::ASTConsumer> note_device_functions(GivenPath path_of, std::vector<DeviceFunction>& functions) {
  return std::make_unique<Consumer>(std::move(path_of), functions);
}

}  // namespace kernelift
