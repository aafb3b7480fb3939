// See launchers.h.
#include "extractor/scan/launchers.h"

#include <set>

#include "clang/AST/Attr.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"

namespace kernelift::extractor {
namespace {

using namespace clang;

/// A copy, or a dim3 of a number.
bool passes_on(const CXXConstructExpr* made) {
  if (made->getNumArgs() == 0) return false;
  for (unsigned i = 1; i < made->getNumArgs(); ++i)
    if (!llvm::isa<CXXDefaultArgExpr>(made->getArg(i))) return false;
  auto* record = made->getConstructor()->getParent();
  return made->getConstructor()->isCopyOrMoveConstructor() || (record->getIdentifier() && record->getName() == "dim3");
}

/// The parameter that the expression is the value of: `n`, a copy of `grid`, `std::forward<T>(x)`.
const ParmVarDecl* parameter_in(const Expr* e) {
  for (;;) {
    e = e->IgnoreImplicit()->IgnoreParens()->IgnoreImplicit();
    auto* made = llvm::dyn_cast<CXXConstructExpr>(e);
    auto* call = llvm::dyn_cast<CallExpr>(e);
    if (made && passes_on(made)) {
      e = made->getArg(0);
    } else if (call && call->getNumArgs() == 1 && call->getDirectCallee() &&
               call->getDirectCallee()->isInStdNamespace() && call->getDirectCallee()->getIdentifier() &&
               (call->getDirectCallee()->getName() == "forward" || call->getDirectCallee()->getName() == "move")) {
      e = call->getArg(0);
    } else {
      break;
    }
  }
  auto* reference = llvm::dyn_cast<DeclRefExpr>(e);
  return reference ? llvm::dyn_cast<ParmVarDecl>(reference->getDecl()) : nullptr;
}

/// The launches in a body, and what is done with parameters.
class Body : public DynamicRecursiveASTVisitor {
 public:
  bool VisitCUDAKernelCallExpr(CUDAKernelCallExpr* call) override {
    launches.push_back(call);
    return true;
  }
  bool VisitDeclRefExpr(DeclRefExpr* reference) override {
    if (auto* parameter = llvm::dyn_cast<ParmVarDecl>(reference->getDecl())) uses.emplace_back(parameter, reference);
    return true;
  }
  bool VisitImplicitCastExpr(ImplicitCastExpr* cast) override {
    if (cast->getCastKind() == CK_LValueToRValue || cast->getCastKind() == CK_FunctionToPointerDecay ||
        (cast->getCastKind() == CK_NoOp && cast->getType().isConstQualified()))
      note_read(cast->getSubExpr());
    return true;
  }
  bool VisitCallExpr(CallExpr* call) override {
    if (parameter_in(call)) note_read(call->getArg(0));
    return true;
  }
  /// It is never changed, nor is its address given away, as far as this body shows.
  bool only_reads(const ParmVarDecl* parameter) const {
    for (auto& [used, reference] : uses)
      if (used == parameter && !reads_.contains(reference)) return false;
    return true;
  }
  int uses_of(const ParmVarDecl* parameter) const {
    int count = 0;
    for (auto& use : uses) count += use.first == parameter;
    return count;
  }
  std::vector<const CUDAKernelCallExpr*> launches;
  std::vector<std::pair<const ParmVarDecl*, const DeclRefExpr*>> uses;

 private:
  /// The variable that is read, or a member of it.
  void note_read(const Expr* e) {
    e = e->IgnoreParenImpCasts();
    while (auto* member = llvm::dyn_cast<MemberExpr>(e)) e = member->getBase()->IgnoreParenImpCasts();
    if (auto* reference = llvm::dyn_cast<DeclRefExpr>(e)) reads_.insert(reference);
  }
  std::set<const DeclRefExpr*> reads_;
};

std::optional<Launcher> as_launcher(const FunctionDecl* function) {
  auto* method = llvm::dyn_cast<CXXMethodDecl>(function);
  if (function->isDependentContext() || function->isVariadic() || (method && method->isVirtual())) return std::nullopt;
  Body body;
  body.TraverseStmt(function->getBody());
  if (body.launches.size() != 1 || !body.launches[0]->getConfig()) return std::nullopt;
  Launcher launcher;
  launcher.function = function, launcher.launch = body.launches[0];
  const ParmVarDecl* kernel = parameter_in(launcher.launch->getCallee());
  if (!kernel || kernel->getDeclContext() != function || body.uses_of(kernel) != 1) return std::nullopt;
  launcher.kernel = kernel->getFunctionScopeIndex();
  // An inner function's parameters are others; what the launcher changes before the launch is no longer the call's.
  for (auto* parameter : function->parameters())
    if (parameter != kernel && !body.only_reads(parameter)) return std::nullopt;
  return launcher;
}

}  // namespace

const Expr* Launcher::given(const CallExpr* call, const Expr* of_launch) const {
  const ParmVarDecl* parameter = of_launch ? parameter_in(of_launch) : nullptr;
  return parameter && parameter->getDeclContext() == function ? value_of(call, parameter) : nullptr;
}

const Expr* Launcher::value_of(const CallExpr* call, const ParmVarDecl* parameter) const {
  const unsigned index = parameter->getFunctionScopeIndex();
  const Expr* given = index < call->getNumArgs() ? call->getArg(index) : nullptr;
  if (!given || llvm::isa<CXXDefaultArgExpr>(given)) return nullptr;
  const QualType to = parameter->getType().getNonReferenceType(), from = given->IgnoreParenImpCasts()->getType();
  const bool numbers = to->isArithmeticType() && !from.isNull() && from->isArithmeticType();
  auto& context = function->getASTContext();
  if (!numbers || context.hasSameUnqualifiedType(to, from)) return given;
  const bool widens =
      to->isIntegerType() && from->isIntegerType() && context.getTypeSize(to) >= context.getTypeSize(from);
  return widens ? given : nullptr;
}

bool Launcher::is_own(llvm::StringRef name) const {
  struct Names : DynamicRecursiveASTVisitor {
    llvm::StringRef name;
    bool found = false;
    bool VisitDeclRefExpr(DeclRefExpr* reference) override { return note(reference->getDecl()); }
    bool VisitMemberExpr(MemberExpr* member) override { return note(member->getMemberDecl()); }
    bool note(const ValueDecl* declaration) {
      const bool constant =
          declaration->getType().isConstQualified() && !declaration->getDeclContext()->isFunctionOrMethod();
      found |= !constant && !llvm::isa<EnumConstantDecl>(declaration) && declaration->getIdentifier() &&
               declaration->getName() == name;
      return true;
    }
  } names;
  names.name = name;
  names.TraverseStmt(function->getBody());
  return names.found;
}

std::vector<const Expr*> Launcher::arguments(const CallExpr* call) const {
  std::vector<const Expr*> all;
  for (auto* one : launch->arguments()) all.push_back(given(call, one));
  return all;
}

const Launcher* Launchers::called_by(const CallExpr* call) {
  auto* callee = call->getDirectCallee();
  if (!callee || llvm::isa<CUDAKernelCallExpr, CXXOperatorCallExpr>(call)) return nullptr;
  const FunctionDecl* function = nullptr;
  if (!callee->hasBody(function) || !function->getBody()) return nullptr;
  auto [known, fresh] = known_.try_emplace(function);
  if (fresh) known->second = as_launcher(function);
  return known->second ? &*known->second : nullptr;
}

}  // namespace kernelift::extractor
