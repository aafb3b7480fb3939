// See rounding.h. Every use is followed upwards, from an operand to what is made of it.
#include "tuner/source/rules/arithmetic/rounding.h"

#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>

namespace kernelift {
namespace {

bool gives_whole_numbers(llvm::StringRef name) {
  for (auto* stem : {"floor", "ceil", "round", "trunc", "rint", "nearbyint", "lround", "lrint", "llround", "llrint", "modf", "fmod", "remainder", "remquo"})
    if (name == stem || (name.ends_with("f") && name.drop_back() == stem)) return true;
  return name.starts_with("__float2") || name.starts_with("__double2");
}

class Follower {
 public:
  explicit Follower(const KernelSource& source) : source_(source) {}
  void follow(const clang::Stmt* value);
  void follow_uses(const clang::VarDecl* variable);
  Rounded worst() const { return worst_; }

 private:
  void meet(Rounded what) { worst_ = std::max(worst_, what); }
  void follow_calls(const clang::Stmt* leave);
  /// The value is an argument; true: what the function gives is made of it.
  bool goes_through(const clang::CallExpr* call, const clang::Stmt* argument);

  const KernelSource& source_;
  std::set<const clang::Decl*> seen_;
  Rounded worst_ = Rounded::Value;
};

void Follower::follow_uses(const clang::VarDecl* variable) {
  if (!variable || !seen_.insert(variable).second) return;
  for (auto* function : source_.functions())
    walk(function->getBody(), [&](const clang::Stmt* statement) {
      auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
      if (reference && reference->getDecl() == variable) follow(reference);
      return true;
    });
}

void Follower::follow_calls(const clang::Stmt* leave) {
  for (auto* function : source_.functions()) {
    bool inside = false;
    walk(function->getBody(), [&](const clang::Stmt* statement) { return !(inside |= statement == leave); });
    if (!inside || !seen_.insert(function->getCanonicalDecl()).second) continue;
    for (auto* caller : source_.functions())
      walk(caller->getBody(), [&](const clang::Stmt* statement) {
        auto* call = llvm::dyn_cast<clang::CallExpr>(statement);
        if (call && call->getDirectCallee() && call->getDirectCallee()->getCanonicalDecl() == function->getCanonicalDecl()) follow(call);
        return true;
      });
  }
}

bool Follower::goes_through(const clang::CallExpr* call, const clang::Stmt* argument) {
  auto* callee = call->getDirectCallee();
  if (callee && callee->getIdentifier() && gives_whole_numbers(callee->getName())) meet(Rounded::Cut);
  const clang::FunctionDecl* defined = nullptr;
  bool own = callee && callee->hasBody(defined) && callee->getASTContext().getSourceManager().isWrittenInMainFile(defined->getLocation());
  for (unsigned n = 0; own && n < std::min(call->getNumArgs(), defined->getNumParams()); ++n)
    if (call->getArg(n) == argument) follow_uses(defined->getParamDecl(n));
  return !own;
}

void Follower::follow(const clang::Stmt* value) {
  for (const clang::Stmt *from = value, *up = nullptr; worst_ != Rounded::Cut && (up = source_.parent(from)); from = up) {
    if (auto* cast = llvm::dyn_cast<clang::CastExpr>(up)) {
      if (cast->getCastKind() == clang::CK_FloatingToIntegral || cast->getType()->isDependentType()) meet(Rounded::Cut);
      if (cast->getCastKind() == clang::CK_FloatingToBoolean) return meet(Rounded::Compared);
    } else if (auto* binary = llvm::dyn_cast<clang::BinaryOperator>(up)) {
      if (binary->isComparisonOp()) return meet(Rounded::Compared);
      if (!binary->isAssignmentOp()) continue;
      if (from == binary->getLHS()) return;
      if (binary->getLHS()->getType()->isIntegerType()) meet(Rounded::Cut);
      return follow_uses(variable_of(binary->getLHS()));
    } else if (auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(up)) {
      if (from == choice->getCond()) return meet(Rounded::Compared);
    } else if (auto* call = llvm::dyn_cast<clang::CallExpr>(up)) {
      if (!goes_through(call, from)) return;
    } else if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(up)) {
      for (auto* declared : declaration->decls())
        if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared); variable && variable->getInit() == from) follow_uses(variable);
      return;
    } else if (llvm::isa<clang::ReturnStmt>(up)) {
      return follow_calls(up);
    } else if (!llvm::isa<clang::Expr>(up)) {
      return;
    }
  }
}

}  // namespace

Rounded what_becomes_of_what_is_at(const KernelSource& source, const clang::Expr* address) {
  auto* unary = llvm::dyn_cast<clang::UnaryOperator>(address->IgnoreParenImpCasts());
  auto* variable = unary && unary->getOpcode() == clang::UO_AddrOf ? variable_of(unary->getSubExpr()) : nullptr;
  if (!variable) return Rounded::Value;   // An element of an array in memory, as in `out[i] = sinf(x)`.
  Follower follower(source);
  follower.follow_uses(variable);
  return follower.worst();
}

Rounded what_becomes_of(const KernelSource& source, const clang::Expr* value) {
  Follower follower(source);
  follower.follow(value);
  return follower.worst();
}

}  // namespace kernelift
