// Arrays of a constant extent, and who goes into them: where every index is held to the extent by the same constant (a
// loop up to it, a remainder, a thread of the block that the launch takes from it), the constant may be turned; where
// what is in memory decides how many elements there are (`sorted[count++]`), a smaller one may be too small for data
// that was not recorded.
#pragma once
#include <map>
#include <set>
#include <vector>

#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "extractor/scan/turnable_uses.h"

namespace kernelift {

class Capacities : public clang::DynamicRecursiveASTVisitor {
 public:
  Capacities(const TurnableUses& uses, const SourceItems& items) : uses_(uses), items_(items) {}

  void take(const Closure& closure);
  /// EXPECTS: all closures are taken, and the uses are followed. To be called before grows_only.
  void judge();
  /// Whether a smaller constant may be too small for some array. `geometry`: the constants that the launch takes its
  /// geometry from, to which threads' numbers are held.
  bool grows_only(clang::SourceLocation constant, const std::set<clang::SourceLocation>& geometry) const;

  bool VisitFunctionDecl(clang::FunctionDecl* function) override;
  bool TraverseStmt(clang::Stmt* statement) override {
    return left_out_.count(statement) || clang::DynamicRecursiveASTVisitor::TraverseStmt(statement);
  }
  bool VisitForStmt(clang::ForStmt* loop) override;
  bool VisitBinaryOperator(clang::BinaryOperator* op) override;
  bool VisitUnaryOperator(clang::UnaryOperator* op) override;
  bool VisitArraySubscriptExpr(clang::ArraySubscriptExpr* element) override;
  bool VisitFieldDecl(clang::FieldDecl* field) override { return array_of(field), true; }
  bool VisitVarDecl(clang::VarDecl* variable) override { return array_of(variable), true; }
  bool VisitDeclRefExpr(clang::DeclRefExpr* name) override { return take_use(name, name->getDecl()); }
  bool VisitMemberExpr(clang::MemberExpr* member) override { return take_use(member, member->getMemberDecl()); }

 private:
  using Place = clang::SourceLocation;
  struct Array {
    std::vector<const clang::Expr*> extents;               ///< The outermost first.
    std::vector<std::vector<const clang::Expr*>> indices;  ///< By dimension.
    bool handed_on = false;  ///< As a whole, or a row of it: who goes into it then is not seen.
  };
  struct Capacity {
    std::set<Place> extent;
    bool loose = false;       ///< An index is not held to it.
    bool by_threads = false;  ///< An index is a thread's number, or is not seen.
  };
  Array* array_of(const clang::ValueDecl* declaration);
  bool take_use(const clang::Expr* use, const clang::ValueDecl* declaration);
  bool shares(const clang::Stmt* text, const Capacity& capacity) const;
  /// Something in it is counted up as the data say, or was read from them.
  bool is_of_data(const clang::Stmt* text, std::set<const clang::ValueDecl*>& seen) const;
  /// `whole`: it is the index itself, not a part of one.
  bool holds(const clang::Expr* index, bool whole, Capacity& capacity);
  bool holds(const clang::ValueDecl* variable, Capacity& capacity);
  bool ends_in_time(const clang::ForStmt* loop, const clang::ValueDecl* counter, const clang::Expr* condition,
                    Capacity& capacity);

  const TurnableUses& uses_;
  const SourceItems& items_;
  std::set<int> taken_;
  std::map<const clang::ValueDecl*, Array> arrays_;
  std::set<const clang::Stmt*> subscripted_, heads_, left_out_;
  std::map<const clang::ValueDecl*, std::vector<const clang::ForStmt*>> counters_;
  std::set<const clang::ValueDecl*> changed_, assigned_;  ///< Outside of loops' heads.
  std::map<const clang::ValueDecl*, bool> judged_;  ///< For the capacity that is judged now; true while a variable is.
  std::vector<Capacity> capacities_;
};

}  // namespace kernelift
