// scalar_promotion: `for (k…) C[i*n+j] += A[…] * B[…];` reads and writes global memory in every turn, because the
// compiler must assume that C overlaps A or B. The element is kept in a register for the length of the loop, and the
// label says what is assumed:
//   float C_sum = C[i*n+j];  for (k…) C_sum += A[…] * B[…];  C[i*n+j] = C_sum;
// Where it is a thread's own affair whether there is a turn at all, `for (k = first[i]; k < first[i + 1]; ++k)`, one
// that has none touches nothing: its element may be another's, or not be there.
//   const bool any = first[i] < first[i + 1];  float y_sum = any ? y[i] : 0;  for (…) y_sum += …;  if (any) y[i] =
//                                              y_sum;
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>

#include <algorithm>

#include "tuner/source/rules/rule.h"
#include "tuner/source/rules/spelled_type.h"

namespace kernelift {
namespace {

/// A `continue` that leaves out some turns by their number, as in `if (j == i) continue;`: what it asks of nothing but
/// what stays the same, or of memory, may be whether there is such an element.
bool leaves_out_turns(const KernelSource& source, const clang::Stmt* leave,
                      const std::set<const clang::VarDecl*>& changed) {
  auto* up = source.parent(leave);
  if (up && llvm::isa<clang::CompoundStmt>(up)) up = source.parent(up);
  auto* branch = llvm::dyn_cast_or_null<clang::IfStmt>(up);
  if (!branch || !is_invariant(branch->getCond(), {})) return false;
  auto variables = variables_in(branch->getCond());
  return std::any_of(variables.begin(), variables.end(), [&](auto* variable) { return changed.contains(variable); });
}

/// Leaves the loop other than at its end, where the element would not be written back, or a turn that may not be meant
/// to touch it.
bool leaves_early(const KernelSource& source, const clang::Stmt* body, const std::set<const clang::VarDecl*>& changed) {
  bool leaves = false;
  walk(body, [&](const clang::Stmt* statement) {
    leaves |= llvm::isa<clang::ReturnStmt, clang::GotoStmt>(statement);
    leaves |= llvm::isa<clang::ContinueStmt>(statement) && !leaves_out_turns(source, statement, changed);
    return !leaves;
  });
  return leaves;
}

/// A `break` that ends `loop`, and not one within it.
bool may_break(const KernelSource& source, const clang::Stmt* loop) {
  bool may = false;
  walk(loop, [&](const clang::Stmt* statement) {
    if (!llvm::isa<clang::BreakStmt>(statement)) return !may;
    auto* up = source.parent(statement);
    while (up &&
           !llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt, clang::SwitchStmt>(up))
      up = source.parent(up);
    may |= !up || up == loop;
    return !may;
  });
  return may;
}

const clang::ArraySubscriptExpr* assigned_element(const clang::Stmt* statement) {
  auto* binary = llvm::dyn_cast<clang::BinaryOperator>(statement);
  if (!binary || !binary->isAssignmentOp()) return nullptr;
  return llvm::dyn_cast<clang::ArraySubscriptExpr>(binary->getLHS()->IgnoreParens());
}

constexpr int kInitialisers = 4;  ///< Variables of variables that are looked into.

/// Whether the index may name no element: it comes from memory, where -1 may stand for none, or is of one in front of
/// another.
bool may_name_none(const KernelSource& source, const clang::Expr* index, int depth) {
  bool may = false;
  walk(index, [&](const clang::Stmt* statement) {
    auto* binary = llvm::dyn_cast<clang::BinaryOperator>(statement);
    auto* unary = llvm::dyn_cast<clang::UnaryOperator>(statement);
    auto* member = llvm::dyn_cast<clang::MemberExpr>(statement);
    may |= llvm::isa<clang::ArraySubscriptExpr>(statement) || (binary && binary->getOpcode() == clang::BO_Sub) ||
           (member && member->isArrow()) ||
           (unary && (unary->getOpcode() == clang::UO_Deref || unary->getOpcode() == clang::UO_Minus));
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
    auto* variable = reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
    if (may || !variable || !variable->hasLocalStorage() || llvm::isa<clang::ParmVarDecl>(variable)) return !may;
    if (depth == 0) return !(may = true);
    if (variable->getInit()) may |= may_name_none(source, variable->getInit(), depth - 1);
    for (auto* function : source.functions())
      walk(function->getBody(), [&](const clang::Stmt* inner) {
        auto* set = llvm::dyn_cast<clang::BinaryOperator>(inner);
        if (set && set->getOpcode() == clang::BO_Assign && named_variable(set->getLHS()) == variable)
          may |= may_name_none(source, set->getRHS(), depth - 1);
        return !may;
      });
    return !may;
  });
  return may;
}

/// `for (T k = first; k < end; …)`, or with another comparison; `first` is null where the loop does not set it.
struct Range {
  const clang::VarDecl* counter = nullptr;
  const clang::Expr* first = nullptr;
  const clang::BinaryOperator* condition = nullptr;
};

std::optional<Range> range_of(const clang::ForStmt* loop) {
  Range range;
  range.condition = llvm::dyn_cast_or_null<clang::BinaryOperator>(loop->getCond());
  if (!range.condition || !range.condition->isComparisonOp()) return std::nullopt;
  if (auto* declared = llvm::dyn_cast_or_null<clang::DeclStmt>(loop->getInit()); declared && declared->isSingleDecl()) {
    range.counter = llvm::dyn_cast<clang::VarDecl>(declared->getSingleDecl());
    range.first = range.counter ? range.counter->getInit() : nullptr;
  } else if (auto* set = llvm::dyn_cast_or_null<clang::BinaryOperator>(loop->getInit());
             set && set->getOpcode() == clang::BO_Assign) {
    range.counter = named_variable(set->getLHS()), range.first = set->getRHS();
  }
  return (range.counter && range.first) || !loop->getInit() ? std::optional(range) : std::nullopt;
}

bool runs_for_sure(const KernelSource& source, const Range& range) {
  if (!range.counter || range.condition->getOpcode() != clang::BO_LT ||
      named_variable(range.condition->getLHS()) != range.counter)
    return false;
  clang::Expr::EvalResult first, end;
  auto known = [&](const clang::Expr* value, clang::Expr::EvalResult& result) {
    return !value->isValueDependent() && value->EvaluateAsInt(result, source.context());
  };
  return known(range.first, first) && known(range.condition->getRHS(), end) &&
         first.Val.getInt().getExtValue() < end.Val.getInt().getExtValue();
}

/// Made of constants and the kernel's parameters, by whichever names.
bool same_for_all(const KernelSource& source, const clang::Expr* value, const clang::VarDecl* counter, int depth) {
  bool same = is_invariant(value, {});
  walk(value, [&](const clang::Stmt* statement) {
    if (llvm::isa<clang::PseudoObjectExpr>(statement)) {
      const std::string builtin = squeezed(source.spelled(statement));
      same &= builtin.starts_with("blockDim.") || builtin.starts_with("gridDim.");
      return false;
    }
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
    auto* variable = reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
    if (!variable || variable == counter || !variable->hasLocalStorage()) return same;
    auto* function = llvm::dyn_cast<clang::FunctionDecl>(variable->getDeclContext());
    same &= function && function->hasBody() && function->hasAttr<clang::CUDAGlobalAttr>();
    // Declared counts as changed: once, where it is set.
    if (!same || (llvm::isa<clang::ParmVarDecl>(variable) && !changed_within(function->getBody()).contains(variable)))
      return same;
    size_t changes = 0;
    walk(function->getBody(), [&](const clang::Stmt* inner) {
      auto* target = assigned_by(inner);
      changes += target && variable_of(target) == variable;
      auto* address = llvm::dyn_cast<clang::UnaryOperator>(inner);
      changes += address && address->getOpcode() == clang::UO_AddrOf && variable_of(address->getSubExpr()) == variable;
      return true;
    });
    return same &= depth > 0 && changes == 0 && variable->getInit() && !variable->getType()->isReferenceType() &&
                   same_for_all(source, variable->getInit(), counter, depth - 1);
  });
  return same;
}

/// In the statement itself, whatever branches in it decide.
bool touches_always(const KernelSource& source, const clang::Stmt* statement, const std::string& element) {
  bool touches = false;
  walk(statement, [&](const clang::Stmt* inner) {
    if (llvm::isa<clang::ArraySubscriptExpr>(inner)) touches |= squeezed(source.spelled(inner)) == element;
    return !touches && !llvm::isa<clang::IfStmt, clang::SwitchStmt, clang::ForStmt, clang::WhileStmt, clang::DoStmt,
                                  clang::ConditionalOperator, clang::LambdaExpr>(inner);
  });
  return touches;
}

/// In the loop's own block, in front of it, and with the index as it is then.
bool is_touched_before(const KernelSource& source, const clang::ForStmt* loop,
                       const clang::ArraySubscriptExpr* element) {
  auto* around = llvm::cast<clang::CompoundStmt>(source.parent(loop));
  auto variables = variables_in(element);
  const std::string same = squeezed(source.spelled(element));
  bool there = false;
  for (auto* statement : around->body()) {
    if (statement == loop) return there;
    auto changed = changed_within(statement);
    if (std::any_of(variables.begin(), variables.end(), [&](auto* variable) { return changed.contains(variable); }))
      there = false;
    else there |= touches_always(source, statement, same);
  }
  return there;
}

/// Some turn is taken by all threads or by none.
bool turns_for_all(const KernelSource& source, const clang::ForStmt* loop) {
  auto range = range_of(loop);
  return range && (runs_for_sure(source, *range) ||
                   (same_for_all(source, range->condition, range->counter, kInitialisers) &&
                    (!range->first || same_for_all(source, range->first, nullptr, kInitialisers))));
}

/// Whether a turn of `loop` comes to it depends on the thread.
bool is_conditional(const KernelSource& source, const clang::Stmt* statement, const clang::Stmt* loop) {
  for (const clang::Stmt* up = source.parent(statement); up && up != loop; up = source.parent(up)) {
    if (auto* inner = llvm::dyn_cast<clang::ForStmt>(up)) {
      if (!turns_for_all(source, inner) || may_break(source, inner)) return true;
      continue;
    }
    auto* binary = llvm::dyn_cast<clang::BinaryOperator>(up);
    if ((binary && binary->isLogicalOp()) ||
        llvm::isa<clang::IfStmt, clang::SwitchStmt, clang::AbstractConditionalOperator, clang::WhileStmt, clang::DoStmt,
                  clang::CXXForRangeStmt, clang::LambdaExpr>(up))
      return true;
  }
  return false;
}

/// Who finds no turn touches no element, which need not be there, or be this thread's: nobody may then.
bool may_be_touched(const KernelSource& source, const clang::ForStmt* loop, const clang::ArraySubscriptExpr* element) {
  auto range = range_of(loop);
  if (range && runs_for_sure(source, *range)) return true;
  return (turns_for_all(source, loop) && !may_name_none(source, element->getIdx(), kInitialisers)) ||
         is_touched_before(source, loop, element);
}

/// Whether there is a turn, asked in front of the loop: its condition, of the first. Empty where that has effects of
/// its own.
std::string has_turns(const KernelSource& source, const clang::ForStmt* loop) {
  auto range = range_of(loop);
  if (!range) return {};
  bool pure = true;
  auto look = [&](const clang::Expr* expression) {
    walk(expression, [&](const clang::Stmt* inner) {
      auto* unary = llvm::dyn_cast<clang::UnaryOperator>(inner);
      return pure &= !assigned_by(inner) && !llvm::isa<clang::CallExpr, clang::LambdaExpr>(inner) &&
                     !(unary && unary->isIncrementDecrementOp());
    });
  };
  look(range->condition);
  if (range->first) look(range->first);
  auto whole = source.span(range->condition);
  std::string first = range->first ? source.spelled(range->first) : "";
  if (!pure || !whole || (range->first && first.empty())) return {};
  // `unsigned k = -1` is no number below any.
  std::string as;
  if (range->first) {
    clang::QualType type = range->counter->getType().getUnqualifiedType(),
                    given = range->first->IgnoreImpCasts()->getType();
    if (type->isDependentType() || given->isDependentType()) return {};
    if (!source.context().hasSameUnqualifiedType(type, given))
      as = "(" + type.getAsString(source.context().getPrintingPolicy()) + ")";
  }
  std::vector<TextEdit> edits;
  walk(range->condition, [&](const clang::Stmt* inner) {
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner);
    auto at =
        reference && range->counter && reference->getDecl() == range->counter ? source.span(reference) : std::nullopt;
    if (!at) return true;
    const bool plain =
        llvm::isa<clang::DeclRefExpr, clang::IntegerLiteral, clang::ArraySubscriptExpr, clang::MemberExpr>(
            range->first->IgnoreImpCasts());
    edits.push_back({at->begin - whole->begin, at->end - whole->begin, as + (plain ? first : "(" + first + ")")});
    return true;
  });
  return apply_edits(source.text().substr(whole->begin, whole->end - whole->begin), edits).value_or("");
}

/// Keeps `element` in a register through the loop; false if something speaks against it. `any`: a variable's name,
/// where only who has a turn may touch it; else empty.
bool keep(const KernelSource& source, const clang::ForStmt* loop, const clang::ArraySubscriptExpr* element,
          const std::string& any, Opportunity& into) {
  auto* base = named_variable(element->getBase());
  std::string element_text = source.spelled(element), same = squeezed(element_text);
  // Within the loop the array may be touched at this element only, and in these words.
  std::vector<Span> uses;
  bool clean = !element_text.empty() && !element->getType().isVolatileQualified(), read = false;
  size_t mentions_of_base = 0;
  walk(loop, [&](const clang::Stmt* statement) {
    if (auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement))
      mentions_of_base += reference->getDecl() == base;
    if (auto* compound = llvm::dyn_cast<clang::CompoundAssignOperator>(statement);
        compound && assigned_element(compound))
      read |= named_variable(assigned_element(compound)->getBase()) == base;
    auto* use = llvm::dyn_cast<clang::ArraySubscriptExpr>(statement);
    if (!use || named_variable(use->getBase()) != base) return true;
    auto where = source.span(use);
    auto* around = llvm::dyn_cast_or_null<clang::UnaryOperator>(source.parent(use));
    bool address = around && around->getOpcode() ==
                                 clang::UO_AddrOf;  // That may lead to its neighbours, or others wait for it there.
    if (!where || address || squeezed(source.spelled(use)) != same) clean = false;
    else uses.push_back(*where);
    return true;
  });
  auto begin = source.span(loop);
  auto end = source.statement_end(loop);
  if (!clean || (!read && uses.size() < 2) || mentions_of_base != uses.size() || !begin || !end ||
      !source.first_on_line(begin->begin))
    return false;
  std::string name = source.fresh_name(base->getName().str() + "_sum");
  clang::QualType type = element->getType().getUnqualifiedType();
  bool plain = !type->isDependentType() && type->isBuiltinType() && !spelled_by_macro(source, base);
  if (!plain && !any.empty()) return false;
  std::string spelled_type = plain ? type.getAsString(source.context().getPrintingPolicy()) : "auto";
  std::string indent = source.indentation(begin->begin);
  into.edits.push_back({begin->begin, begin->begin,
                        spelled_type + " " + name + " = " + (any.empty() ? "" : any + " ? ") + element_text +
                            (any.empty() ? "" : " : 0") + ";\n" + indent});
  for (auto& use : uses) into.edits.push_back({use.begin, use.end, name});
  into.edits.push_back(
      {*end, *end, "\n" + indent + (any.empty() ? "" : "if (" + any + ") ") + element_text + " = " + name + ";"});
  into.place += (into.place.empty() ? "" : ", ") + element_text;
  return true;
}

std::optional<Opportunity> in_loop(const KernelSource& source, const RuleContext& facts, const clang::ForStmt* loop) {
  auto* outer = source.parent(loop);
  auto changed = changed_within(loop);
  if (!outer || !llvm::isa<clang::CompoundStmt>(outer) || leaves_early(source, loop->getBody(), changed) ||
      has_barrier(loop->getBody()))
    return std::nullopt;
  std::set<const clang::VarDecl*> seen;
  std::set<std::string> apart;
  Opportunity found;
  const std::string turns = has_turns(source, loop), any = source.fresh_name("has_iterations");
  bool asked = false;
  const bool breaks = may_break(source, loop);
  walk(loop->getBody(), [&](const clang::Stmt* statement) {
    auto* element = assigned_element(statement);
    auto* base = element ? named_variable(element->getBase()) : nullptr;
    if (base && base->getType()->isPointerType() && !changed.contains(base) &&
        is_invariant(element->getIdx(), changed) && !is_conditional(source, statement, loop) &&
        (!breaks || is_touched_before(source, loop, element)) && seen.insert(base).second) {
      const bool ask = !may_be_touched(source, loop, element), others = touches_other_memory(loop, base);
      if ((ask && turns.empty()) || (others && !facts.alone(source, base, loop)) ||
          !keep(source, loop, element, ask ? any : "", found))
        return true;
      asked |= ask;
      if (others) apart.insert(base->getNameAsString());
    }
    return true;
  });
  if (found.edits.empty()) return std::nullopt;
  if (auto begin = source.span(loop); asked)
    found.edits.insert(
        found.edits.begin(),
        {begin->begin, begin->begin, "const bool " + any + " = " + turns + ";\n" + source.indentation(begin->begin)});
  found.place += " in " + source.name(loop);
  if (!apart.empty()) found.premises.push_back(facts.no_overlap(apart));
  return found;
}

std::vector<Opportunity> find(const KernelSource& source, const RuleContext& facts, const Bindings&) {
  std::vector<Opportunity> found;
  for (auto* function : source.functions())
    for (auto* loop : loops_in(function))
      if (auto opportunity = in_loop(source, facts, loop)) found.push_back(std::move(*opportunity));
  return found;
}

}  // namespace

const Rule kScalarPromotion = {"scalar_promotion",
                               "keep a loop's accumulator in a register instead of global memory",
                               "the element's index does not change in the loop, every turn touches it and no other "
                               "element, and nothing else leads to it",
                               {},
                               find,
                               {Bound::Latency, Bound::Memory}};

}  // namespace kernelift
