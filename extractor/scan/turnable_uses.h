// Which constants say how much of something there is, or where: a loop's bound, an array's extent, a template's
// argument, an index, a branch's condition, work by thread and block; by themselves, or through the variables,
// parameters and results that lead there. What only goes into the values that a kernel computes (a generator's
// multipliers, a hash's shifts and masks, a seed) is part of the answer, and another one would give another answer. So
// is what is only compared with: it tells cases apart. And so is what only says how often a loop runs, an iteration's
// limit or the terms of a series, and is divided out nowhere, so that fewer turns are less work done: right by luck
// where the recorded data converged early. In doubt another use turns something.
#pragma once
#include <map>
#include <set>
#include <unordered_set>
#include <vector>

#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "extractor/source/closure.h"

namespace kernelift {

/// threadIdx and its kin: who does what.
bool mentions_thread(const clang::Stmt* text);
/// The variable of the expression if, parentheses and implicit casts aside, it is a plain name; null is none.
const clang::ValueDecl* variable_in(const clang::Expr* e);
/// The text and all below it.
void add_all(const clang::Stmt* text, std::set<const clang::Stmt*>& into);
/// A literal or a name of a constant, or arithmetic over those alone.
bool is_constant(const clang::Expr* e);

/// Constants go by places: literals by where they are spelled (in a macro's definition, if one brought them), others by
/// where they are declared, which a template's instances share.
class TurnableUses : public clang::DynamicRecursiveASTVisitor {
 public:
  TurnableUses(const ParsedUnit& unit, const SourceItems& items) : unit_(unit), items_(items) {}

  void take(const Closure& closure);
  /// EXPECTS: all closures are taken. To be called before any_of.
  void follow();
  bool any_of(clang::SourceLocation place) const { return places_.count(place) > 0; }
  /// It bounds loops, and nothing that it counts is dealt out by it: no step, no quotient, no place in blocks of it.
  bool only_repeats(clang::SourceLocation place) const {
    return bounding_.count(place) > 0 && dealing_.count(place) == 0;
  }
  /// What is there is cut off at it, or told apart by it.
  bool is_compared_with(clang::SourceLocation place) const { return compared_.count(place) > 0; }
  /// What is told apart by it lies in memory, such as how long rows are: another run may have other data there.
  bool tells_data_apart(clang::SourceLocation place) const { return data_.count(place) > 0; }
  /// EXPECTS: follow() was called. All that leads to an expression, through variables, parameters and results.
  std::set<clang::SourceLocation> leading_to(const clang::Stmt* text) const { return reached_from({{text, false}}); }
  /// The expressions that are given to a variable, a parameter or a member, or returned by a function.
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

  /// All that is in the text turns something; and, but for a shallow one, all that leads to its variables.
  bool root(const clang::Stmt* text) { return roots_.push_back({text, false}), true; }
  bool shallow_root(const clang::Stmt* text) { return roots_.push_back({text, true}), true; }
  void assign(const clang::Expr* target, const clang::Expr* value);
  void pass(const clang::FunctionDecl* callee, const clang::Expr* const* arguments, unsigned count);
  void deal_out(const clang::Stmt* text);
  void compare(const clang::Expr* comparison, const clang::Expr* left, const clang::Expr* right);
  void bound(const clang::Expr* condition);
  void note_periods(const clang::Stmt* condition);
  void deal(const clang::Expr* operation, clang::BinaryOperatorKind kind, const clang::Expr* left,
            const clang::Expr* right);
  void name_template(const clang::TemplateDecl* named, llvm::ArrayRef<clang::TemplateArgumentLoc> arguments);

  /// Texts, and whether only constants of theirs are followed.
  using Texts = std::vector<std::pair<const clang::Stmt*, bool>>;
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
  /// By itself, or through variables and results.
  bool is_of_memory(const clang::Stmt* text, std::set<const clang::Stmt*>& seen) const;

  std::set<Place> places_, bounding_, dealing_, compared_, data_;
  std::vector<std::pair<const clang::Expr*, const clang::Expr*>>
      comparisons_;  ///< A constant, and what is compared with it.
  std::unordered_set<const clang::Stmt*> left_out_, bounds_;
  std::unordered_set<const clang::Stmt*>
      periods_;  ///< `it % K` in a condition: when something happens, not what is done.
  Texts roots_, bound_texts_, dealt_texts_,
      compared_texts_;  ///< All that turns something; conditions of loops; what steps, divides and multiplies places.
  struct Sources {
    std::vector<const clang::Stmt*> texts;
    std::set<Place> places;
  };
  std::map<Place, Sources>
      sources_;  ///< What is given to a variable, a parameter, a member, or returned by a function.
  const clang::FunctionDecl* function_ = nullptr;  ///< The one walked through, its members' and lambdas' included.
};

}  // namespace kernelift
