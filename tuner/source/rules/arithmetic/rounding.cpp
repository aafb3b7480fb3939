// See rounding.h. Every use is followed upwards in the AST, from an operand to the expression that contains it.
#include "tuner/source/rules/arithmetic/rounding.h"

#include <clang/AST/Attr.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>
#include <functional>

namespace kernelift::tuner {
namespace {

bool has_whole_results(llvm::StringRef name) {
  for (auto* stem : {"floor", "ceil", "round", "trunc", "rint", "nearbyint", "lround", "lrint", "llround", "llrint",
                     "modf", "fmod", "remainder", "remquo"})
    if (name == stem || (name.ends_with("f") && name.drop_back() == stem)) return true;
  for (auto* stem : {"__float2", "__double2", "__float_as_", "__double_as_", "bit_cast", "__builtin_bit_cast"})
    if (name.starts_with(stem)) return true;
  return false;
}

/// The statement calls this function, which is defined in the text.
bool calls(const clang::Stmt* statement, const clang::FunctionDecl* function) {
  auto* call = llvm::dyn_cast<clang::CallExpr>(statement);
  auto* callee = call ? visible_callee(call) : nullptr;
  return callee && callee->getCanonicalDecl() == function->getCanonicalDecl();
}

/// Whether all functions that an unresolved name may mean are from headers, as for `sqrt` of a template's argument.
bool is_library_function(const clang::CallExpr* call, const KernelSource& source) {
  auto* lookup = llvm::dyn_cast<clang::OverloadExpr>(call->getCallee()->IgnoreParenImpCasts());
  return lookup && lookup->getNumDecls() > 0 &&
         std::none_of(lookup->decls_begin(), lookup->decls_end(),
                      [&](auto* one) { return source.offset(one->getUnderlyingDecl()->getLocation()).has_value(); });
}

class Follower {
 public:
  explicit Follower(const KernelSource& source) : source_(source) {}
  void follow(const clang::Stmt* value);
  void follow_uses(const clang::VarDecl* variable);
  RoundedUse worst() const { return worst_; }

 private:
  void meet(RoundedUse what) { worst_ = std::max(worst_, what); }
  void each(const std::function<void(const clang::FunctionDecl*, const clang::Stmt*)>& visit) const;
  const clang::FunctionDecl* function_around(const clang::Stmt* statement) const;
  void follow_calls(const clang::Stmt* leave);
  /// Follows a value that is stored in a reference parameter, or where a pointer parameter points, into the callers'
  /// arguments.
  void follow_given(const clang::ParmVarDecl* parameter);
  void follow_stored(const clang::Expr* target);
  void follow_memory(const clang::VarDecl* pointer);
  /// The value is an argument of the call. true: the call's result depends on it and is to be followed.
  bool goes_through(const clang::CallExpr* call, const clang::Stmt* argument);

  const KernelSource& source_;
  std::set<const clang::Decl*> seen_;
  RoundedUse worst_ = RoundedUse::Value;
};

void Follower::each(const std::function<void(const clang::FunctionDecl*, const clang::Stmt*)>& visit) const {
  for (auto* function : source_.functions())
    walk(function->getBody(), [&](const clang::Stmt* statement) { return visit(function, statement), true; });
}

void Follower::follow_uses(const clang::VarDecl* variable) {
  if (!variable || !seen_.insert(variable).second) return;
  each([&](auto*, const clang::Stmt* statement) {
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
    if (reference && reference->getDecl() == variable) follow(reference);
  });
  auto* parameter = llvm::dyn_cast<clang::ParmVarDecl>(variable);
  if (parameter && parameter->getType()->isReferenceType()) follow_given(parameter);
}

const clang::FunctionDecl* Follower::function_around(const clang::Stmt* statement) const {
  const clang::FunctionDecl* around = nullptr;
  each([&](auto* function, const clang::Stmt* one) {
    if (one == statement) around = function;
  });
  return around;
}

void Follower::follow_calls(const clang::Stmt* leave) {
  for (const clang::Stmt* up = leave; up; up = source_.parent(up))
    if (llvm::isa<clang::LambdaExpr>(up)) return meet(RoundedUse::Truncated);  // Calls of lambdas are not traced.
  auto* function = function_around(leave);
  if (!function || !seen_.insert(function->getCanonicalDecl()).second) return;
  each([&](auto*, const clang::Stmt* statement) {
    if (calls(statement, function)) follow(statement);
  });
}

void Follower::follow_given(const clang::ParmVarDecl* parameter) {
  auto* function = llvm::dyn_cast<clang::FunctionDecl>(parameter->getDeclContext());
  const unsigned number = parameter->getFunctionScopeIndex();
  if (!function || function->hasAttr<clang::CUDAGlobalAttr>()) return;
  each([&](auto*, const clang::Stmt* statement) {
    if (!calls(statement, function) || number >= llvm::cast<clang::CallExpr>(statement)->getNumArgs()) return;
    auto* given = llvm::cast<clang::CallExpr>(statement)->getArg(number)->IgnoreParenImpCasts();
    auto* address = llvm::dyn_cast<clang::UnaryOperator>(given);
    const bool of_one = address && address->getOpcode() == clang::UO_AddrOf;
    if (auto* variable = variable_of(of_one ? address->getSubExpr() : given)) return follow_uses(variable);
    for (auto* variable : variables_in(given)) follow_memory(variable);  // `out + i`
  });
}

/// A value stored through a pointer may be read through it again, or through the pointers that it derives from.
void Follower::follow_memory(const clang::VarDecl* pointer) {
  if (pointer->getType()->isArithmeticType() || seen_.contains(pointer)) return;
  follow_uses(pointer);
  auto* parameter = llvm::dyn_cast<clang::ParmVarDecl>(pointer);
  if (parameter && !parameter->getType()->isReferenceType()) follow_given(parameter);
  if (!parameter && pointer->getInit())
    for (auto* from : variables_in(pointer->getInit())) follow_memory(from);
}

void Follower::follow_stored(const clang::Expr* target) {
  if (target->getType()->isIntegerType()) meet(RoundedUse::Truncated);
  if (auto* variable = variable_of(target)) return follow_uses(variable);
  target = target->IgnoreParenImpCasts();
  while (auto* member = llvm::dyn_cast<clang::MemberExpr>(target)) {
    target = member->getBase()->IgnoreParenImpCasts();
    if (!member->isArrow()) continue;
    for (auto* variable : variables_in(target)) follow_memory(variable);
    return;
  }
  const clang::Expr* pointer = nullptr;
  if (auto* unary = llvm::dyn_cast<clang::UnaryOperator>(target); unary && unary->getOpcode() == clang::UO_Deref)
    pointer = unary->getSubExpr();
  if (auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(target)) pointer = element->getBase();
  if (pointer)
    for (auto* variable : variables_in(pointer)) follow_memory(variable);
}

bool Follower::goes_through(const clang::CallExpr* call, const clang::Stmt* argument) {
  auto* callee = visible_callee(call);
  const bool own = callee && source_.offset(callee->getLocation());
  if (own) {
    auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(callee);
    const unsigned object = llvm::isa<clang::CXXOperatorCallExpr>(call) && method && !method->isStatic()
                                ? 1  // The object counts as an operator's first argument.
                                : 0;
    if (object && call->getArg(0) == argument) meet(RoundedUse::Truncated);
    for (unsigned n = object; n < call->getNumArgs(); ++n) {
      if (call->getArg(n) != argument) continue;
      if (n - object < callee->getNumParams()) follow_uses(callee->getParamDecl(n - object));
      else meet(RoundedUse::Truncated);
    }
    return false;
  }
  auto* named = call->getDirectCallee();
  auto* lookup = llvm::dyn_cast<clang::OverloadExpr>(call->getCallee()->IgnoreParenImpCasts());
  if (!named && !is_library_function(call, source_))
    meet(RoundedUse::Truncated);  // A call through a pointer, or of a function that depends on a template's argument.
  if (named && named->getIdentifier() && has_whole_results(named->getName())) meet(RoundedUse::Truncated);
  if (lookup && lookup->getName().isIdentifier() &&
      has_whole_results(lookup->getName().getAsIdentifierInfo()->getName()))
    meet(RoundedUse::Truncated);
  return true;
}

void Follower::follow(const clang::Stmt* value) {
  for (const clang::Stmt *from = value, *up = nullptr; worst_ != RoundedUse::Truncated && (up = source_.parent(from));
       from = up) {
    if (auto* cast = llvm::dyn_cast<clang::CastExpr>(up)) {
      const bool may_cut = cast->getType()->isDependentType() ||
                           (cast->getCastKind() == clang::CK_Dependent && cast->getType()->isIntegerType());
      if (may_cut || cast->getCastKind() == clang::CK_FloatingToIntegral) meet(RoundedUse::Truncated);
      if (cast->getCastKind() == clang::CK_FloatingToBoolean) return meet(RoundedUse::Compared);
    } else if (auto* binary = llvm::dyn_cast<clang::BinaryOperator>(up)) {
      if (binary->isComparisonOp()) return meet(RoundedUse::Compared);
      if (!binary->isAssignmentOp()) continue;
      if (from == binary->getLHS()) return;
      return follow_stored(binary->getLHS());
    } else if (auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(up)) {
      if (from == choice->getCond()) return meet(RoundedUse::Compared);
    } else if (auto* call = llvm::dyn_cast<clang::CallExpr>(up)) {
      if (!goes_through(call, from)) return;
    } else if (auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(up)) {
      // Constructors of the program, or of a template's argument, are not examined.
      if (!made->getConstructor()->isImplicit() && source_.offset(made->getConstructor()->getLocation()))
        return meet(RoundedUse::Truncated);
    } else if (llvm::isa<clang::CXXUnresolvedConstructExpr, clang::LambdaExpr>(up)) {
      return meet(RoundedUse::Truncated);
    } else if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(up)) {
      for (auto* declared : declaration->decls())
        if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared); variable && variable->getInit() == from)
          follow_uses(variable);
      return;
    } else if (llvm::isa<clang::ReturnStmt>(up)) {
      return follow_calls(up);
    } else if (!llvm::isa<clang::Expr>(up)) {
      return;
    }
  }
}

}  // namespace

RoundedUse use_of(const KernelSource& source, const clang::VarDecl* variable) {
  Follower follower(source);
  follower.follow_uses(variable);
  return follower.worst();
}

RoundedUse use_of_stored(const KernelSource& source, const clang::Expr* address) {
  auto* unary = llvm::dyn_cast<clang::UnaryOperator>(address->IgnoreParenImpCasts());
  auto* variable = unary && unary->getOpcode() == clang::UO_AddrOf ? variable_of(unary->getSubExpr()) : nullptr;
  // Otherwise it is an array element in memory, as in `out[i] = sinf(x)`.
  return variable ? use_of(source, variable) : RoundedUse::Value;
}

RoundedUse use_of(const KernelSource& source, const clang::Expr* value) {
  Follower follower(source);
  follower.follow(value);
  return follower.worst();
}

}  // namespace kernelift::tuner
