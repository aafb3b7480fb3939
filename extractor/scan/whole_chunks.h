// Work that is dealt out in chunks of a constant, `for (k = 0; k < m; k += K) for (u = 0; u < K; ++u) sum += a[k + u]`,
// or m / K of them: where the text does not ask of each element whether it is still one, sizes have to be multiples of
// the constant, and may be of no larger one. So the constant may be turned into its divisors only.
#pragma once
#include <set>
#include <vector>

#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "extractor/scan/turnable_uses.h"

namespace kernelift {

class WholeChunks : public clang::DynamicRecursiveASTVisitor {
 public:
  WholeChunks(const TurnableUses& uses, const SourceItems& items) : uses_(uses), items_(items) {}

  void take(const Closure& closure);
  /// Whether sizes may have to be multiples of it. EXPECTS: all closures are taken, and the uses are followed.
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
    const clang::Expr* number;                 ///< What is multiplied, or null: the loop's counter is stepped.
    const clang::Expr* chunk;                  ///< Has the constant.
    std::vector<const clang::ForStmt*> loops;  ///< Around it.
  };
  struct Asked {
    const clang::Expr* side;
    std::vector<const clang::ForStmt*> loops;
    const clang::ForStmt* head = nullptr;  ///< It is this loop's condition.
  };
  bool leads(Place place, const clang::Stmt* text) const { return uses_.leading_to(text).contains(place); }
  bool is_of_thread(const clang::Stmt* text, std::set<const clang::ValueDecl*>& seen) const;
  bool is_of_thread(const clang::Stmt* text) const;
  /// As long as another: constants, and what is made of them alone. Not a row that is so many of them from the first.
  bool is_length(const clang::Stmt* text, std::set<const clang::ValueDecl*>& seen) const;
  void ask(const clang::Expr* side);
  /// Some comparison is of an element of the chunk, and not of its first.
  bool is_asked(Place constant, const Chunked& chunked) const;

  const TurnableUses& uses_;
  const SourceItems& items_;
  std::set<int> taken_;
  std::vector<const clang::ForStmt*> loops_, all_loops_;
  std::vector<Chunked> chunked_;
  std::vector<Asked> asked_;
  std::vector<const clang::BinaryOperator*> quotients_;
  std::set<const clang::Stmt*> left_out_, in_tables_;
};

}  // namespace kernelift
