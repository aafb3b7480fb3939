// What a function that launches gives its variables, and which of it one has at a certain place: block = 256; a<<<n /
// block, block>>>(…); block = 64; b<<<…>>>. Only a value that the variable is sure to have there is told; one that
// depends on a branch, on an earlier round of a loop or on somebody who holds the address is not.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "clang/AST/DynamicRecursiveASTVisitor.h"

namespace kernelift {

/// x, y, z as 0, 1, 2; -1 for any other name.
int axis_of(llvm::StringRef member);
/// dim3 and its kin, references to it included.
bool is_dim3(clang::QualType type);

/// One place where a variable is given a value.
struct Assignment {
  int axis = -1;                       ///< grid.x = …: 0; -1: all of it.
  const clang::Expr* value = nullptr;  ///< Null: not one that could be followed.
  const clang::Stmt* place = nullptr;
};

class Assignments : public clang::DynamicRecursiveASTVisitor {
 public:
  explicit Assignments(const clang::FunctionDecl* function);

  /// What `variable`, or that axis of it, was last given before `place`; null if that depends on more than the place.
  const Assignment* last(const clang::VarDecl* variable, int axis, const clang::Stmt* place) const;
  /// All that `record.name` is given; a null value is one that could not be followed, or a part of it.
  const std::vector<const clang::Expr*>* field(const clang::VarDecl* record, const std::string& name) const;

  bool VisitBinaryOperator(clang::BinaryOperator* op) override;
  bool VisitCXXOperatorCallExpr(clang::CXXOperatorCallExpr* call) override;
  bool VisitDeclStmt(clang::DeclStmt* statement) override;
  bool VisitUnaryOperator(clang::UnaryOperator* op) override;
  bool VisitCallExpr(clang::CallExpr* call) override;

 private:
  struct Position {
    size_t order = 0, end = 0;  ///< In the order of the text; `end` is past all that is inside.
    const clang::Stmt* outer = nullptr;
  };
  void number(const clang::Stmt* statement, const clang::Stmt* outer);
  bool encloses(const clang::Stmt* outer, const Position& inner) const;
  bool always_before(const Position& first, const Position& then) const;
  bool may_come_between(const Position& other, const Position& first, const Position& then) const;
  void note(const clang::VarDecl* variable, const Assignment& assignment);
  void give(const clang::Expr* target, const clang::Expr* value, const clang::Stmt* place);
  void give_field(const clang::Expr* target, const clang::Expr* value);
  void lend(const clang::Expr* target);

  std::map<const clang::VarDecl*, std::vector<Assignment>> given_;
  std::set<const clang::VarDecl*> lent_;  ///< Somebody may write to them without naming them.
  std::map<std::pair<const clang::VarDecl*, std::string>, std::vector<const clang::Expr*>> fields_;
  std::map<const clang::Stmt*, Position> positions_;
  size_t next_ = 0;
  bool has_labels_ = false;
};

}  // namespace kernelift
