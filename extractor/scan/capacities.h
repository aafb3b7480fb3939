// Arrays whose extent is a constant, and the indices into them. If every index is bounded by the same constant (a loop
// up to it, a remainder, a thread index of a block whose size is the constant), the constant may be changed freely. If
// data in memory decide how many elements are stored (`sorted[count++]`), a smaller constant may be too small for data
// that were not recorded.
#pragma once
#include <map>
#include <set>
#include <vector>

#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "extractor/scan/knob_uses.h"

namespace kernelift::extractor {

class Capacities : public clang::DynamicRecursiveASTVisitor {
 public:
  Capacities(const KnobUses& uses, const SourceItems& items) : uses_(uses), items_(items) {}

  void take(const Closure& closure);
  /// EXPECTS: all closures are taken, and the uses are followed. To be called before grows_only.
  void judge();
  /// Whether a smaller constant may be too small for an array. `geometry`: constants of the launch, which bound
  /// threads.
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
    std::vector<const clang::Expr*> extents;               ///< The outermost dimension first.
    std::vector<std::vector<const clang::Expr*>> indices;  ///< By dimension.
    bool escapes = false;  ///< The array or a row of it is passed on, so that not all indices are known.
  };
  struct Capacity {
    std::set<Place> extent;   ///< The constants that the extent depends on.
    bool unbounded = false;   ///< An index is not bounded by the extent.
    bool by_threads = false;  ///< An index depends on a thread index, or is not known.
  };
  Array* array_of(const clang::ValueDecl* declaration);
  bool take_use(const clang::Expr* use, const clang::ValueDecl* declaration);
  bool shares(const clang::Stmt* text, const Capacity& capacity) const;
  /// True if the expression was read from memory, or contains a counter that is incremented outside of loop heads.
  bool depends_on_data(const clang::Stmt* text, std::set<const clang::ValueDecl*>& seen) const;
  /// Whether the index stays within the extent. `whole`: it is the complete index, not a part of one.
  bool is_bounded(const clang::Expr* index, bool whole, Capacity& capacity);
  bool is_bounded(const clang::ValueDecl* variable, Capacity& capacity);
  bool is_limited(const clang::ForStmt* loop, const clang::ValueDecl* counter, const clang::Expr* condition,
                  Capacity& capacity);

  const KnobUses& uses_;
  const SourceItems& items_;
  std::set<int> taken_;
  std::map<const clang::ValueDecl*, Array> arrays_;
  std::set<const clang::Stmt*> subscripted_, heads_, left_out_;
  std::map<const clang::ValueDecl*, std::vector<const clang::ForStmt*>> counters_;
  std::set<const clang::ValueDecl*> changed_, assigned_;  ///< Variables modified or assigned outside of loop heads.
  std::map<const clang::ValueDecl*, bool> judged_;  ///< is_bounded() for the current capacity; true while in progress.
  std::vector<Capacity> capacities_;
};

}  // namespace kernelift::extractor
