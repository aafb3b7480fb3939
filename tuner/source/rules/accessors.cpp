// See accessors.h.
#include "tuner/source/rules/accessors.h"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <set>
#include <vector>

#include "tuner/source/rules/kernel_source.h"

namespace kernelift::tuner {
namespace {

constexpr int kDeepest = 4;  ///< Of methods that call each other.

bool leaves(const clang::CXXMethodDecl* method, int depth);

/// What a body does with the object whose method it is.
class ObjectUses {
 public:
  explicit ObjectUses(int depth) : depth_(depth) {}

  bool only_read(const clang::Stmt* statement) {
    if (!statement) return true;
    if (llvm::isa<clang::LambdaExpr, clang::AsmStmt, clang::CXXNewExpr, clang::OverloadExpr,
                  clang::CXXDependentScopeMemberExpr>(statement))
      return false;
    if (llvm::isa<clang::CXXThisExpr>(statement) && !is_base_of_member()) return false;
    if (auto* member = llvm::dyn_cast<clang::MemberExpr>(statement);
        member && is_of_this(member) && !is_read(/*element=*/true))
      return false;
    if (auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
        reference && pointers_.contains(reference->getDecl()) && !is_read(/*element=*/true, /*pointer=*/true))
      return false;
    if (auto* call = llvm::dyn_cast<clang::CXXMemberCallExpr>(statement);
        call && llvm::isa<clang::CXXThisExpr>(call->getImplicitObjectArgument()->IgnoreParenImpCasts()) &&
        !leaves(call->getMethodDecl(), depth_ - 1))
      return false;
    above_.push_back(statement);
    bool good = true;
    for (auto* part : statement->children()) good = good && only_read(part);
    above_.pop_back();
    return good;
  }

 private:
  bool is_base_of_member() const {
    for (auto up = above_.rbegin(); up != above_.rend(); ++up) {
      if (llvm::isa<clang::MemberExpr>(*up)) return true;
      if (!llvm::isa<clang::ImplicitCastExpr, clang::ParenExpr>(*up)) return false;
    }
    return false;
  }

  static bool is_of_this(const clang::MemberExpr* member) {
    const clang::Expr* base = member->getBase()->IgnoreParenImpCasts();
    if (auto* outer = llvm::dyn_cast<clang::MemberExpr>(base)) return !member->isArrow() && is_of_this(outer);
    return llvm::isa<clang::CXXThisExpr>(base) && llvm::isa<clang::FieldDecl>(member->getMemberDecl());
  }

  /// Of the member that is visited: its value is taken, or that of one of its elements, or it is pointed at by a
  /// pointer to const. `pointer`: a variable that points at one. `element`: the expression is an lvalue.
  bool is_read(bool element, bool pointer = false) {
    for (auto up = above_.rbegin(); up != above_.rend(); ++up) {
      if (llvm::isa<clang::ParenExpr>(*up)) continue;
      if (llvm::isa<clang::MemberExpr>(*up)) return true;  // Its own member was visited before.
      if (auto* cast = llvm::dyn_cast<clang::CastExpr>(*up)) {
        const clang::QualType type = cast->getType();
        if (type->isPointerType() && type->getPointeeType().isConstQualified()) return true;
        if (cast->getCastKind() == clang::CK_LValueToRValue) {
          if (!element || !pointer) return true;
          element = false;  // The address that the variable has.
        } else if (cast->getCastKind() == clang::CK_ArrayToPointerDecay) {
          element = false;
        } else if (cast->getCastKind() != clang::CK_NoOp) {
          return false;
        }
        continue;
      }
      if (llvm::isa<clang::ArraySubscriptExpr>(*up)) {
        element = true, pointer = false;
        continue;
      }
      auto* sum = llvm::dyn_cast<clang::BinaryOperator>(*up);
      if (sum && sum->isAdditiveOp() && !element) continue;
      // A variable that points there is asked in its turn.
      auto* declaration = llvm::dyn_cast<clang::DeclStmt>(*up);
      auto* variable = declaration && declaration->isSingleDecl() && !element
                           ? llvm::dyn_cast<clang::VarDecl>(declaration->getSingleDecl())
                           : nullptr;
      if (!variable || !variable->hasLocalStorage() || !variable->getType()->isPointerType()) return false;
      pointers_.insert(variable);
      return true;
    }
    return false;
  }

  std::set<const clang::ValueDecl*> pointers_;  ///< Variables that point at the object's members.
  int depth_;
  std::vector<const clang::Stmt*> above_;
};

bool leaves(const clang::CXXMethodDecl* method, int depth) {
  if (!method || depth <= 0) return false;
  if (method->isConst() || method->isStatic()) return true;
  const clang::FunctionDecl* definition = nullptr;
  return method->hasBody(definition) && ObjectUses(depth).only_read(definition->getBody());
}

}  // namespace

bool leaves_object(const clang::CXXMethodDecl* method) { return leaves(method, kDeepest); }

}  // namespace kernelift::tuner
