// Which constants determine an amount or a position: a loop's bound, an array's extent, a template's argument, an
// index, a branch's condition, the work of a thread or block; directly, or through variables, parameters and results. A
// knob has to be one of these. A constant is part of the answer, and another value would give another answer, if it
//   - only enters the values that a kernel computes (a generator's multipliers, a hash's shifts and masks, a seed);
//   - is only compared with, to distinguish cases;
//   - only limits how often a loop runs (an iteration limit, the number of terms of a series) and nowhere steps,
//     divides or multiplies an index: fewer iterations would be less work, correct only by luck where the recorded
//     data converged early;
//   - is the extent of the data: it bounds loops or indices and multiplies others (`x[i * WIDTH + j]`), and nothing is
//     divided by it, and no index that it multiplies is compared with anything.
// Uses that are not recognised count as determining an amount.
#pragma once
#include <map>
#include <set>
#include <unordered_set>
#include <vector>

#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "extractor/source/closure.h"

namespace kernelift::extractor {

/// True if the text contains threadIdx, blockIdx, blockDim, gridDim or warpSize.
bool mentions_thread(const clang::Stmt* text);
/// The variable that the expression names, parentheses and implicit casts aside; null if it is no plain name.
const clang::ValueDecl* variable_in(const clang::Expr* e);
/// Adds the text and all its descendants.
void add_all(const clang::Stmt* text, std::set<const clang::Stmt*>& into);
/// True for a literal, the name of a constant, and arithmetic over those alone.
bool is_constant(const clang::Expr* e);

/// Constants are identified by source location: literals by their spelling location (in a macro's definition, if they
/// come from one), others by their declaration's location, which a template's instances share.
class KnobUses : public clang::DynamicRecursiveASTVisitor {
 public:
  KnobUses(const ParsedUnit& unit, const SourceItems& items) : unit_(unit), items_(items) {}

  void take(const Closure& closure);
  /// EXPECTS: all closures are taken. To be called before the queries below.
  void follow();
  /// True if the constant determines an amount or a position.
  bool sets_amount(clang::SourceLocation place) const { return places_.count(place) > 0; }
  /// True if a template names a member of one of its parameters so, `Policy::UNROLL`, which its text does not resolve.
  bool names_dependently(const std::string& name) const { return dependent_names_.count(name) > 0; }
  /// True if the constant bounds loops and partitions no work: it is no step, no divisor, and no factor of an index.
  bool only_repeats(clang::SourceLocation place) const {
    return bounding_.count(place) > 0 && partitioning_.count(place) == 0;
  }
  /// True if the constant bounds loops or indices, and is a factor of indices at most: with another value the kernel
  /// would access other elements, or too many.
  bool is_extent(clang::SourceLocation place) const {
    return (bounding_.count(place) > 0 || compared_.count(place) > 0) && dividing_.count(place) == 0 &&
           guarded_.count(place) == 0;
  }
  /// True if some value is compared with the constant.
  bool is_compared_with(clang::SourceLocation place) const { return compared_.count(place) > 0; }
  /// True if a value from memory, such as a row's length, is compared with the constant: other runs may differ.
  bool distinguishes_data(clang::SourceLocation place) const { return data_.count(place) > 0; }
  /// All constants and variables whose values flow into an expression, through variables, parameters and results.
  /// EXPECTS: follow() was called.
  std::set<clang::SourceLocation> leading_to(const clang::Stmt* text) const { return reached_from({{text, false}}); }
  /// The expressions that are assigned to a variable or a member, passed to a parameter, or returned by a function.
  const std::vector<const clang::Stmt*>& given_to(const clang::ValueDecl* declaration) const;

  bool TraverseStmt(clang::Stmt* statement) override {
    return left_out_.count(statement) || clang::DynamicRecursiveASTVisitor::TraverseStmt(statement);
  }
  bool TraverseAttr(clang::Attr* attribute) override;
  bool TraverseTemplateArgumentLoc(const clang::TemplateArgumentLoc& argument) override;
  bool TraverseConstructorInitializer(clang::CXXCtorInitializer* init) override;
  bool VisitFunctionDecl(clang::FunctionDecl* function) override;
  bool VisitVarDecl(clang::VarDecl* variable) override;
  bool VisitFieldDecl(clang::FieldDecl* field) override { return root(field->getInClassInitializer()); }
  bool VisitEnumConstantDecl(clang::EnumConstantDecl* constant) override;
  bool VisitArrayTypeLoc(clang::ArrayTypeLoc array) override { return root(array.getSizeExpr()); }
  bool VisitForStmt(clang::ForStmt* loop) override;
  bool VisitWhileStmt(clang::WhileStmt* loop) override { return bound(loop->getCond()), root(loop->getCond()); }
  bool VisitDoStmt(clang::DoStmt* loop) override { return bound(loop->getCond()), root(loop->getCond()); }
  bool VisitIfStmt(clang::IfStmt* branch) override {
    return note_periods(branch->getCond()), shallow_root(branch->getCond());
  }
  bool VisitSwitchStmt(clang::SwitchStmt* branch) override { return shallow_root(branch->getCond()); }
  bool VisitConditionalOperator(clang::ConditionalOperator* branch) override { return shallow_root(branch->getCond()); }
  bool VisitCaseStmt(clang::CaseStmt* label) override {
    return left_out_.insert({label->getLHS(), label->getRHS()}), true;
  }
  bool VisitReturnStmt(clang::ReturnStmt* leave) override;
  bool VisitBinaryOperator(clang::BinaryOperator* op) override;
  bool VisitDeclRefExpr(clang::DeclRefExpr* name) override;
  bool VisitDependentScopeDeclRefExpr(clang::DependentScopeDeclRefExpr* name) override;
  bool VisitTemplateSpecializationTypeLoc(clang::TemplateSpecializationTypeLoc type) override;
  bool VisitArraySubscriptExpr(clang::ArraySubscriptExpr* element) override { return root(element->getIdx()); }
  bool VisitCallExpr(clang::CallExpr* call) override;
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* call) override;
  bool VisitCXXUnresolvedConstructExpr(clang::CXXUnresolvedConstructExpr* call) override { return shallow_root(call); }
  bool VisitCXXNewExpr(clang::CXXNewExpr* made) override { return shallow_root(made); }
  bool VisitAsmStmt(clang::AsmStmt* text) override { return shallow_root(text); }
  bool VisitAttributedStmt(clang::AttributedStmt* statement) override;

 private:
  using Place = clang::SourceLocation;

  /// Texts, each with whether it is shallow: only its constants are followed, not its variables.
  using Texts = std::vector<std::pair<const clang::Stmt*, bool>>;
  /// Notes a text that determines an amount. Its constants count; unless it is shallow, so do all constants whose
  /// values flow into its variables.
  bool root(const clang::Stmt* text) { return roots_.push_back({text, false}), true; }
  bool shallow_root(const clang::Stmt* text) { return roots_.push_back({text, true}), true; }
  void assign(const clang::Expr* target, const clang::Expr* value);
  void pass(const clang::FunctionDecl* callee, const clang::Expr* const* arguments, unsigned count);
  void add_partition_sizes(const clang::Stmt* text, Texts& into);
  void compare(const clang::Expr* comparison, const clang::Expr* left, const clang::Expr* right);
  void bound(const clang::Expr* condition);
  void note_periods(const clang::Stmt* condition);
  void note_partitioning(const clang::Expr* operation, clang::BinaryOperatorKind kind, const clang::Expr* left,
                         const clang::Expr* right);
  void name_template(const clang::TemplateDecl* named, llvm::ArrayRef<clang::TemplateArgumentLoc> arguments);

  struct Flow {
    Texts texts;
    std::set<Place> places, reached;
    bool compared_too = false;
  };
  std::set<Place> reached_from(Texts texts, bool compared_too = false) const;
  void reach(Place place, Flow& flow) const;
  void collect(const clang::Stmt* text, bool shallow, Flow& flow) const;

  const ParsedUnit& unit_;
  const SourceItems& items_;
  std::set<int> taken_;
  /// True if the text's value is read from memory, directly or through variables and results.
  bool depends_on_memory(const clang::Stmt* text, std::set<const clang::Stmt*>& seen) const;

  std::set<Place> places_, bounding_, partitioning_, dividing_, compared_, guarded_, data_;
  /// Constants, each with the expression that is compared with it.
  std::vector<std::pair<const clang::Expr*, const clang::Expr*>> comparisons_;
  std::unordered_set<const clang::Stmt*> left_out_, bounds_;
  /// `it % K` in a condition: it determines when something happens, not what is done.
  std::unordered_set<const clang::Stmt*> periods_;
  std::set<std::string> dependent_names_;
  Texts roots_;            ///< Texts that determine an amount or a position.
  Texts bound_texts_;      ///< Conditions of loops.
  Texts partition_texts_;  ///< Steps, divisors and factors of indices.
  Texts dividing_texts_;   ///< Steps and divisors alone.
  Texts compared_texts_;   ///< Constants in comparisons.
  Texts guarded_texts_;    ///< Other sides of comparisons.
  struct Sources {
    std::vector<const clang::Stmt*> texts;
    std::set<Place> places;
  };
  /// By declaration: the values assigned to a variable or member, passed to a parameter, or returned by a function.
  std::map<Place, Sources> sources_;
  const clang::FunctionDecl* function_ = nullptr;  ///< The function being walked, including the lambdas in it.
};

}  // namespace kernelift::extractor
