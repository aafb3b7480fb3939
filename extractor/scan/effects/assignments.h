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
#include "extractor/scan/effects/effects.h"

namespace kernelift::extractor {

/// x, y, z as 0, 1, 2; -1 for any other name.
int axis_of(llvm::StringRef member);
/// True for dim3 and uint3, and references to them.
bool is_dim3(clang::QualType type);

/// One assignment to a variable, or its initialisation.
struct VariableAssignment {
  int axis = -1;                            ///< 0 for `grid.x = …`; -1 for the whole variable.
  const clang::FieldDecl* field = nullptr;  ///< Of another structure than a dim3: the member; null for all of it.
  const clang::Expr* value = nullptr;       ///< Null if the value cannot be followed.
  const clang::Stmt* place = nullptr;       ///< The assigning statement or initialiser.
};

class Assignments : public clang::DynamicRecursiveASTVisitor {
 public:
  Assignments(const clang::FunctionDecl* function, Effects& effects);

  /// The assignment to `variable`, or to that axis of it, that reaches `place`; null if it depends on the path taken.
  const VariableAssignment* last(const clang::VarDecl* variable, int axis, const clang::Stmt* place) const;
  /// Whether something else may be there after a way from one statement to the other: another value of the variable or
  /// member, or another object behind the pointer.
  bool may_change(const Place& place, const clang::Stmt* from, const clang::Stmt* to) const;
  /// Whether evaluating the launch's other arguments may change what the expression names.
  bool changes_within(const clang::Expr* expression, const clang::CallExpr* launch) const;
  /// Whether the name, at a statement, is the variable's; null: whether it is no variable's of the function.
  bool names(llvm::StringRef name, const clang::VarDecl* variable, const clang::Stmt* at) const;
  /// Whether a call between its assignment and the launch may change a member of a structure.
  bool is_lost(const Place& place, const clang::Stmt* assignment, const clang::Stmt* launch) const;
  /// All assignments to `record.name`; a null value could not be followed, or is that of a part.
  const std::vector<VariableAssignment>* field(const clang::VarDecl* record, const std::string& name) const;

  bool VisitBinaryOperator(clang::BinaryOperator* op) override;
  bool VisitGCCAsmStmt(clang::GCCAsmStmt* assembly) override;
  bool VisitCXXNewExpr(clang::CXXNewExpr* made) override;
  bool VisitCXXConstCastExpr(clang::CXXConstCastExpr* cast) override;
  bool VisitCXXOperatorCallExpr(clang::CXXOperatorCallExpr* call) override;
  bool VisitDeclStmt(clang::DeclStmt* statement) override;
  bool VisitUnaryOperator(clang::UnaryOperator* op) override;
  bool VisitCallExpr(clang::CallExpr* call) override;
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* made) override;
  bool VisitInitListExpr(clang::InitListExpr* list) override;
  bool VisitLambdaExpr(clang::LambdaExpr* lambda) override;

 private:
  struct Position {
    size_t order = 0, end = 0;  ///< Numbers in the order of the text; `end` is past the statement's children.
    const clang::Stmt* outer = nullptr;
  };
  void number(const clang::Stmt* statement, const clang::Stmt* outer);
  bool encloses(const clang::Stmt* outer, const Position& inner) const;
  bool always_before(const Position& first, const Position& then) const;
  bool may_come_between(const Position& other, const Position& first, const Position& then) const;
  /// Whether a loop contains both, or what is called at any time contains the first.
  bool is_repeated_with(const Position& one, const Position& other) const;
  bool is_kept(const clang::ValueDecl* declaration, const Position& then) const;
  bool may_lie_between(const Position& other, const Position& first, const Position& then) const;
  bool may_end_between(const Position& block, const Position& first, const Position& then) const;
  void declare(const clang::VarDecl* variable, const clang::Stmt* scope, size_t order);
  void note(const clang::VarDecl* variable, const VariableAssignment& assignment);
  void give(const clang::Expr* target, const clang::Expr* value, const clang::Stmt* place);
  void give_field(const clang::Expr* target, const clang::Expr* value, const clang::Stmt* place);
  /// Whether anything else may write it than assignments to the function's variables, and than `assignment`.
  bool may_be_written(const Place& place, const Position& first, const Position& then,
                      const clang::Stmt* assignment = nullptr) const;
  void note_escape(const clang::Expr* target);
  /// What is passed for parameters that are references to what may be written.
  void note_escapes(llvm::ArrayRef<clang::Expr*> arguments, llvm::ArrayRef<clang::QualType> parameters);

  std::map<const clang::VarDecl*, std::vector<VariableAssignment>> given_;
  std::set<const clang::VarDecl*> captured_;  ///< By reference, by a lambda.
  std::set<const clang::VarDecl*> escaped_;   ///< Variables that may be written through a pointer or reference.
  std::map<std::pair<const clang::VarDecl*, std::string>, std::vector<VariableAssignment>> fields_;
  struct Declared {
    const clang::VarDecl* variable = nullptr;
    const clang::Stmt* scope = nullptr;  ///< Null for the function.
    size_t order = 0;
  };
  std::multimap<llvm::StringRef, Declared> declared_;
  std::map<const clang::Stmt*, Position> positions_;
  Effects& effects_;
  Events events_;
  size_t next_ = 0;
  bool is_unclear_ = false;  ///< It has labels, or casts constants away.
};

}  // namespace kernelift::extractor
