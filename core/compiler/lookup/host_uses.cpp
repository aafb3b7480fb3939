// See host_uses.h. Functions are reached from others by what their bodies, their members' initial values and the
// default arguments of their calls name.
#include "core/compiler/lookup/host_uses.h"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DynamicRecursiveASTVisitor.h>
#include <clang/AST/ExprCXX.h>

#include <deque>

#include "core/compiler/written/source_tokens.h"

namespace kernelift {
namespace {

class Texts {
 public:
  Texts(const clang::ASTContext& context, const GivenPath& path_of, const std::string& added)
      : given(context, path_of), added_(added) {}

  const GivenDecls given;
  WrittenFunction of(const clang::FunctionDecl& function) const {
    std::string text = given.text(function.getSourceRange());
    for (size_t at = 0; !added_.empty() && (at = text.find(added_, at)) != text.npos;) text.erase(at, added_.size());
    const auto tokens = source_tokens(text);  // Comments and blanks change nothing.
    return {function.getQualifiedNameAsString(), joined(tokens, 0, tokens.size()),
            function.hasAttr<clang::CUDAGlobalAttr>()};
  }

 private:
  const std::string& added_;
};

class Written : public clang::DynamicRecursiveASTVisitor {
 public:
  Written(const Texts& texts, std::set<WrittenFunction>& written) : texts_(texts), written_(written) {}
  bool VisitFunctionDecl(clang::FunctionDecl* function) override {
    if (!function->isImplicit() && texts_.given.contain(*function)) written_.insert(texts_.of(*function));
    return true;
  }
  bool VisitLambdaExpr(clang::LambdaExpr* lambda) override { return VisitFunctionDecl(lambda->getCallOperator()); }

 private:
  const Texts& texts_;
  std::set<WrittenFunction>& written_;
};

/// What a piece of code names.
class Named : public clang::DynamicRecursiveASTVisitor {
 public:
  Named() { ShouldVisitImplicitCode = true; }
  std::vector<const clang::FunctionDecl*> functions;
  std::vector<const clang::VarDecl*> variables;

  bool VisitDeclRefExpr(clang::DeclRefExpr* name) override { return add(name->getDecl()); }
  bool VisitMemberExpr(clang::MemberExpr* name) override { return add(name->getMemberDecl()); }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* made) override { return add(made->getConstructor()); }
  bool VisitCXXInheritedCtorInitExpr(clang::CXXInheritedCtorInitExpr* made) override {
    return add(made->getConstructor());
  }
  bool VisitCXXNewExpr(clang::CXXNewExpr* made) override {
    return add(made->getOperatorNew()), add(made->getOperatorDelete());
  }
  bool VisitCXXDeleteExpr(clang::CXXDeleteExpr* gone) override { return add(gone->getOperatorDelete()); }
  /// Of a lambda for the device the host makes the object and runs no code.
  bool TraverseLambdaExpr(clang::LambdaExpr* lambda) override {
    auto* call = lambda->getCallOperator();
    if (!call->hasAttr<clang::CUDADeviceAttr>() || call->hasAttr<clang::CUDAHostAttr>())
      return clang::DynamicRecursiveASTVisitor::TraverseLambdaExpr(lambda);
    for (auto* captured : lambda->capture_inits()) TraverseStmt(captured);
    return true;
  }
  bool VisitCXXDefaultArgExpr(clang::CXXDefaultArgExpr* argument) override { return TraverseStmt(argument->getExpr()); }
  bool VisitCXXDefaultInitExpr(clang::CXXDefaultInitExpr* member) override { return TraverseStmt(member->getExpr()); }

 private:
  bool add(const clang::Decl* decl) {
    if (auto* function = llvm::dyn_cast_or_null<clang::FunctionDecl>(decl)) functions.push_back(function);
    if (auto* variable = llvm::dyn_cast_or_null<clang::VarDecl>(decl)) variables.push_back(variable);
    return true;
  }
};

/// The functions of the host alone, instances of templates among them, and variables with initial values.
class Roots : public clang::DynamicRecursiveASTVisitor {
 public:
  Roots() { ShouldVisitTemplateInstantiations = true; }
  std::vector<clang::FunctionDecl*> functions;
  std::vector<clang::VarDecl*> variables;

  bool VisitFunctionDecl(clang::FunctionDecl* function) override {
    if (function->doesThisDeclarationHaveABody() && !function->isDependentContext() &&
        !function->hasAttr<clang::CUDADeviceAttr>() && !function->hasAttr<clang::CUDAGlobalAttr>())
      functions.push_back(function);
    return true;
  }
  bool VisitVarDecl(clang::VarDecl* variable) override {
    if (variable->hasGlobalStorage() && !variable->isStaticLocal() && variable->hasInit() &&
        !variable->getDeclContext()->isDependentContext())
      variables.push_back(variable);
    return true;
  }
};

class Reaching {
 public:
  Reaching(const Texts& texts, const std::set<WrittenFunction>& known, std::vector<HostUse>& uses)
      : texts_(texts), known_(known), uses_(uses) {}

  void from(const clang::NamedDecl& root, clang::FunctionDecl* function, clang::Expr* initial) {
    if (function) open_.push_back(function);
    if (initial) read(initial);
    while (!open_.empty()) {
      const clang::FunctionDecl* next = open_.front();
      open_.pop_front();
      // A launch runs no code of the kernel on the host.
      if (next->hasAttr<clang::CUDAGlobalAttr>() || !seen_.insert(next->getCanonicalDecl()).second) continue;
      // What is the host's alone, and no constant expression calls, is in its IR.
      if (next->hasAttr<clang::CUDADeviceAttr>() && is_changed(*next)) {
        uses_.push_back({next->getQualifiedNameAsString(), root.getQualifiedNameAsString()});
        continue;
      }
      read_body(*next);
    }
  }

 private:
  void read(clang::Stmt* code) {
    Named named;
    named.TraverseStmt(code);
    take(named);
  }
  void take(const Named& named) {
    for (auto* function : named.functions) open_.push_back(function);
    for (auto* variable : named.variables)
      if (auto* initial = variable->hasGlobalStorage() ? variable->getAnyInitializer() : nullptr;
          initial && read_.insert(initial).second)
        read(const_cast<clang::Expr*>(initial));
  }
  void read_body(const clang::FunctionDecl& function) {
    const clang::FunctionDecl* definition = nullptr;
    if (!function.hasBody(definition)) return;
    Named named;
    named.TraverseStmt(definition->getBody());
    if (auto* made = llvm::dyn_cast<clang::CXXConstructorDecl>(definition))
      for (auto* initial : made->inits()) named.TraverseStmt(initial->getInit());
    take(named);
  }
  /// A function of the application whose text `known` does not have.
  bool is_changed(const clang::FunctionDecl& function) const {
    const clang::FunctionDecl* pattern = function.getTemplateInstantiationPattern();
    const clang::FunctionDecl& written = pattern ? *pattern : function;
    if (written.isImplicit()) return false;
    for (auto* one : written.redecls())
      if (texts_.given.contain(*one) && !known_.contains(texts_.of(*one))) return true;
    return false;
  }

  const Texts& texts_;
  const std::set<WrittenFunction>& known_;
  std::vector<HostUse>& uses_;
  std::deque<const clang::FunctionDecl*> open_;
  std::set<const clang::FunctionDecl*> seen_;
  std::set<const clang::Expr*> read_;
};

class WrittenConsumer : public clang::ASTConsumer {
 public:
  WrittenConsumer(GivenPath path_of, std::set<WrittenFunction>& written)
      : path_of_(std::move(path_of)), written_(written) {}
  void HandleTranslationUnit(clang::ASTContext& context) override {
    const std::string nothing;
    const Texts texts(context, path_of_, nothing);
    texts.given.each([&](clang::Decl* decl) { Written(texts, written_).TraverseDecl(decl); });
  }

 private:
  const GivenPath path_of_;
  std::set<WrittenFunction>& written_;
};

class UsesConsumer : public clang::ASTConsumer {
 public:
  UsesConsumer(GivenPath path_of, const std::set<WrittenFunction>& known, std::string added, std::vector<HostUse>& uses)
      : path_of_(std::move(path_of)), known_(known), added_(std::move(added)), uses_(uses) {}
  void HandleTranslationUnit(clang::ASTContext& context) override {
    const Texts texts(context, path_of_, added_);
    Roots roots;
    for (clang::Decl* decl : context.getTranslationUnitDecl()->noload_decls()) roots.TraverseDecl(decl);
    Reaching reaching(texts, known_, uses_);
    for (auto* function : roots.functions) reaching.from(*function, function, nullptr);
    for (auto* variable : roots.variables) reaching.from(*variable, nullptr, variable->getInit());
  }

 private:
  const GivenPath path_of_;
  const std::set<WrittenFunction>& known_;
  const std::string added_;
  std::vector<HostUse>& uses_;
};

}  // namespace

std::unique_ptr<clang::ASTConsumer> note_written_functions(GivenPath path_of, std::set<WrittenFunction>& written) {
  return std::make_unique<WrittenConsumer>(std::move(path_of), written);
}

std::unique_ptr<clang::ASTConsumer> note_host_uses(GivenPath path_of, const std::set<WrittenFunction>& known,
                                                   std::string added, std::vector<HostUse>& uses) {
  return std::make_unique<UsesConsumer>(std::move(path_of), known, std::move(added), uses);
}

}  // namespace kernelift
