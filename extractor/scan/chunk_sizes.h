// Constants that are sizes of chunks of work: `for (k = 0; k < m; k += K) for (u = 0; u < K; ++u) sum += a[k + u]`, or
// m / K chunks. If the code does not check for each element of a chunk that it is in bounds, the application's sizes
// have to be multiples of the constant, and are not known to be multiples of any larger value. Such a constant may only
// be changed to a divisor of its value.
#pragma once
#include <set>
#include <vector>

#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "extractor/scan/knob_uses.h"

namespace kernelift::extractor {

class ChunkSizes : public clang::DynamicRecursiveASTVisitor {
 public:
  ChunkSizes(const KnobUses& uses, const SourceItems& items) : uses_(uses), items_(items) {}

  void take(const Closure& closure);
  /// Whether sizes may have to be multiples of `constant`. EXPECTS: all closures are taken, and the uses are followed.
  bool divides_only(clang::SourceLocation constant) const;

  bool TraverseForStmt(clang::ForStmt* loop) override;
  bool TraverseStmt(clang::Stmt* statement) override {
    return left_out_.count(statement) || clang::DynamicRecursiveASTVisitor::TraverseStmt(statement);
  }
  bool VisitFunctionDecl(clang::FunctionDecl* function) override;
  bool VisitBinaryOperator(clang::BinaryOperator* op) override;
  bool VisitCallExpr(clang::CallExpr* call) override;
  bool VisitArraySubscriptExpr(clang::ArraySubscriptExpr* element) override;

 private:
  using Place = clang::SourceLocation;
  struct Chunked {
    const clang::Expr* number;                 ///< The chunk's number, a factor beside `chunk`; null for a loop's step.
    const clang::Expr* chunk;                  ///< The factor or step that may be the chunk size.
    std::vector<const clang::ForStmt*> loops;  ///< The loops around it.
  };
  struct Comparison {
    const clang::Expr* side;
    std::vector<const clang::ForStmt*> loops;
    const clang::ForStmt* head = nullptr;  ///< The loop whose condition contains the comparison.
  };
  bool leads(Place place, const clang::Stmt* text) const { return uses_.leading_to(text).contains(place); }
  bool depends_on_thread(const clang::Stmt* text, std::set<const clang::ValueDecl*>& seen) const;
  bool depends_on_thread(const clang::Stmt* text) const;
  /// True for constants and expressions computed from constants alone: the same length for every chunk. False for an
  /// expression with a thread index or an unknown value, such as a row's offset.
  bool is_length(const clang::Stmt* text, std::set<const clang::ValueDecl*>& seen) const;
  void note_comparison(const clang::Expr* side);
  /// True if some comparison tests an element of the chunk other than its first.
  bool is_bounds_checked(Place constant, const Chunked& chunked) const;

  const KnobUses& uses_;
  const SourceItems& items_;
  std::set<int> taken_;
  std::vector<const clang::ForStmt*> loops_, all_loops_;
  std::vector<Chunked> chunked_;
  std::vector<Comparison> comparisons_;
  std::vector<const clang::BinaryOperator*> quotients_;
  std::set<const clang::Stmt*> left_out_, in_tables_;
};

}  // namespace kernelift::extractor
