// The assignments to a launching function's variables, and which of them reaches a given statement:
//     block = 256; a<<<n / block, block>>>(…); block = 64; b<<<…>>>
// Only a value that the variable is certain to have there is returned, not one that depends on a branch, on an earlier
// iteration of a loop, or on code that has the variable's address.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "clang/AST/DynamicRecursiveASTVisitor.h"

namespace kernelift::extractor {

/// x, y, z as 0, 1, 2; -1 for any other name.
int axis_of(llvm::StringRef member);
/// True for dim3 and uint3, and references to them.
bool is_dim3(clang::QualType type);

/// One assignment to a variable, or its initialisation.
struct VariableAssignment {
  int axis = -1;                       ///< 0 for `grid.x = …`; -1 for the whole variable.
  const clang::Expr* value = nullptr;  ///< Null if the value cannot be followed.
  const clang::Stmt* place = nullptr;  ///< The assigning statement or initialiser.
};

class Assignments : public clang::DynamicRecursiveASTVisitor {
 public:
  explicit Assignments(const clang::FunctionDecl* function);

  /// The assignment to `variable`, or to that axis of it, that reaches `place`; null if it depends on the path taken.
  const VariableAssignment* last(const clang::VarDecl* variable, int axis, const clang::Stmt* place) const;
  /// Whether the variable may be assigned on a way from one statement to the other.
  bool may_change(const clang::VarDecl* variable, const clang::Stmt* from, const clang::Stmt* to) const;
  /// All values assigned to `record.name`; null for a value that could not be followed, or an assignment to a part.
  const std::vector<const clang::Expr*>* field(const clang::VarDecl* record, const std::string& name) const;

  bool VisitBinaryOperator(clang::BinaryOperator* op) override;
  bool VisitCXXOperatorCallExpr(clang::CXXOperatorCallExpr* call) override;
  bool VisitDeclStmt(clang::DeclStmt* statement) override;
  bool VisitUnaryOperator(clang::UnaryOperator* op) override;
  bool VisitCallExpr(clang::CallExpr* call) override;
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* made) override;
  bool VisitInitListExpr(clang::InitListExpr* list) override;

 private:
  struct Position {
    size_t order = 0, end = 0;  ///< Numbers in the order of the text; `end` is past the statement's children.
    const clang::Stmt* outer = nullptr;
  };
  void number(const clang::Stmt* statement, const clang::Stmt* outer);
  bool encloses(const clang::Stmt* outer, const Position& inner) const;
  bool always_before(const Position& first, const Position& then) const;
  bool may_come_between(const Position& other, const Position& first, const Position& then) const;
  void note(const clang::VarDecl* variable, const VariableAssignment& assignment);
  void give(const clang::Expr* target, const clang::Expr* value, const clang::Stmt* place);
  void give_field(const clang::Expr* target, const clang::Expr* value);
  void note_escape(const clang::Expr* target);
  /// What is passed for parameters that are references to what may be written.
  void note_escapes(llvm::ArrayRef<clang::Expr*> arguments, llvm::ArrayRef<clang::QualType> parameters);

  std::map<const clang::VarDecl*, std::vector<VariableAssignment>> given_;
  std::set<const clang::VarDecl*> escaped_;  ///< Variables that may be written through a pointer or reference.
  std::map<std::pair<const clang::VarDecl*, std::string>, std::vector<const clang::Expr*>> fields_;
  std::map<const clang::Stmt*, Position> positions_;
  size_t next_ = 0;
  bool has_labels_ = false;
};

}  // namespace kernelift::extractor
