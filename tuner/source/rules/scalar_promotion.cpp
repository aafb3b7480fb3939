// scalar_promotion: `for (k…) C[i*n+j] += A[…] * B[…];` reads and writes global memory in every iteration, because the
// compiler must assume that C overlaps A or B. The element is kept in a register during the loop, under the premise
// that they do not overlap:
//   float C_sum = C[i*n+j];  for (k…) C_sum += A[…] * B[…];  C[i*n+j] = C_sum;
// A store in front of the loop, `C[i*n+j] = 0;`, becomes that of the register.
// So is an element of shared memory that a thread has accessed before the loop: then it may add to it now and then.
// If the number of iterations differs between threads, `for (k = first[i]; k < first[i + 1]; ++k)`, a thread without
// iterations must not access the element, which may belong to another thread or be out of bounds:
//   const bool has_iterations = first[i] < first[i + 1];
//   float y_sum = has_iterations ? y[i] : 0;  for (…) y_sum += …;  if (has_iterations) y[i] = y_sum;
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>

#include <algorithm>

#include "tuner/source/rules/loop_range.h"
#include "tuner/source/rules/rule.h"
#include "tuner/source/rules/spelled_type.h"

namespace kernelift::tuner {
namespace {

/// A `continue` that skips iterations by their number, as in `if (j == i) continue;`. A condition on unchanged values
/// or on memory may test instead whether the element exists.
bool skips_iterations(const KernelSource& source, const clang::Stmt* leave,
                      const std::set<const clang::VarDecl*>& changed) {
  auto* up = source.parent(leave);
  if (up && llvm::isa<clang::CompoundStmt>(up)) up = source.parent(up);
  auto* branch = llvm::dyn_cast_or_null<clang::IfStmt>(up);
  if (!branch || !is_invariant(branch->getCond(), {})) return false;
  auto variables = variables_in(branch->getCond());
  return std::any_of(variables.begin(), variables.end(), [&](auto* variable) { return changed.contains(variable); });
}

/// The body leaves the loop before its end, where the element would not be written back, or ends an iteration that may
/// have to leave the element alone.
bool leaves_early(const KernelSource& source, const clang::Stmt* body, const std::set<const clang::VarDecl*>& changed) {
  bool leaves = false;
  walk(body, [&](const clang::Stmt* statement) {
    leaves |= llvm::isa<clang::ReturnStmt, clang::GotoStmt>(statement);
    leaves |= llvm::isa<clang::ContinueStmt>(statement) && !skips_iterations(source, statement, changed);
    return !leaves;
  });
  return leaves;
}

/// The loop contains a `break` of its own, not only of inner loops.
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

constexpr int kInitialisers = 4;  ///< Depth of initialisers that are examined.

/// Whether the index may be out of bounds: it comes from memory, where -1 may mean "none", or is the result of a
/// subtraction.
bool may_be_out_of_bounds(const KernelSource& source, const clang::Expr* index, int depth) {
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
    if (variable->getInit()) may |= may_be_out_of_bounds(source, variable->getInit(), depth - 1);
    for (auto* function : source.functions())
      walk(function->getBody(), [&](const clang::Stmt* inner) {
        auto* set = llvm::dyn_cast<clang::BinaryOperator>(inner);
        if (set && set->getOpcode() == clang::BO_Assign && named_variable(set->getLHS()) == variable)
          may |= may_be_out_of_bounds(source, set->getRHS(), depth - 1);
        return !may;
      });
    return !may;
  });
  return may;
}

/// The value is computed from constants, kernel parameters and launch dimensions alone, directly or through variables.
bool is_uniform(const KernelSource& source, const clang::Expr* value, const clang::VarDecl* counter, int depth) {
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
    // changed_within() counts the declaration as a change, too.
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
                   is_uniform(source, variable->getInit(), counter, depth - 1);
  });
  return same;
}

/// The statement accesses the element unconditionally.
bool accesses_always(const KernelSource& source, const clang::Stmt* statement, const std::string& element) {
  bool touches = false;
  walk(statement, [&](const clang::Stmt* inner) {
    if (llvm::isa<clang::ArraySubscriptExpr>(inner)) touches |= squeezed(source.spelled(inner)) == element;
    return !touches && !llvm::isa<clang::IfStmt, clang::SwitchStmt, clang::ForStmt, clang::WhileStmt, clang::DoStmt,
                                  clang::ConditionalOperator, clang::LambdaExpr>(inner);
  });
  return touches;
}

/// A statement before the loop, in the same block, accesses the element with the same index value.
bool is_accessed_before(const KernelSource& source, const clang::ForStmt* loop,
                        const clang::ArraySubscriptExpr* element) {
  auto* around = llvm::cast<clang::CompoundStmt>(source.parent(loop));
  auto variables = variables_in(element);
  std::erase_if(variables, [](auto* one) { return one->getType()->isArrayType(); });  // Its elements may change.
  const std::string same = squeezed(source.spelled(element));
  bool there = false;
  for (auto* statement : around->body()) {
    if (statement == loop) return there;
    auto changed = changed_within(statement);
    if (std::any_of(variables.begin(), variables.end(), [&](auto* variable) { return changed.contains(variable); }))
      there = false;
    else there |= accesses_always(source, statement, same);
  }
  return there;
}

/// Either all threads have at least one iteration or none has.
bool iterates_uniformly(const KernelSource& source, const clang::ForStmt* loop) {
  auto range = LoopRange::of(loop);
  return range && (surely_iterates(source, *range) ||
                   (is_uniform(source, range->condition, range->counter, kInitialisers) &&
                    (!range->first || is_uniform(source, range->first, nullptr, kInitialisers))));
}

/// Whether an iteration of `loop` executes the statement may differ between threads.
bool is_conditional(const KernelSource& source, const clang::Stmt* statement, const clang::Stmt* loop) {
  for (const clang::Stmt* up = source.parent(statement); up && up != loop; up = source.parent(up)) {
    if (auto* inner = llvm::dyn_cast<clang::ForStmt>(up)) {
      if (!iterates_uniformly(source, inner) || may_break(source, inner)) return true;
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

/// Whether every thread may access the element outside the loop: all threads have iterations; or either all or none
/// have them, and the element exists; or the thread accesses it before the loop anyway.
bool may_be_accessed(const KernelSource& source, const clang::ForStmt* loop, const clang::ArraySubscriptExpr* element) {
  auto range = LoopRange::of(loop);
  if (range && surely_iterates(source, *range)) return true;
  return (iterates_uniformly(source, loop) && !may_be_out_of_bounds(source, element->getIdx(), kInitialisers)) ||
         is_accessed_before(source, loop, element);
}

/// The element is read or assigned where it stands: its address goes nowhere.
bool is_used_in_place(const KernelSource& source, const clang::Stmt* element) {
  const clang::Stmt* around = source.parent(element);
  while (llvm::isa_and_nonnull<clang::ParenExpr>(around)) element = around, around = source.parent(around);
  if (auto* cast = llvm::dyn_cast_or_null<clang::ImplicitCastExpr>(around))
    return cast->getCastKind() == clang::CK_LValueToRValue;
  if (auto* binary = llvm::dyn_cast_or_null<clang::BinaryOperator>(around))
    return binary->isAssignmentOp() && binary->getLHS() == element;
  auto* unary = llvm::dyn_cast_or_null<clang::UnaryOperator>(around);
  return unary && unary->isIncrementDecrementOp();
}

/// An array in shared memory of which nothing is named but elements, in place: no pointer leads to it.
bool is_shared_array(const KernelSource& source, const clang::VarDecl* array) {
  if (!array->getType()->isArrayType() || !array->hasAttr<clang::CUDASharedAttr>()) return false;
  size_t named = 0, elements = 0;
  for (auto* function : source.functions())
    walk(function->getBody(), [&](const clang::Stmt* statement) {
      auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
      named += reference && reference->getDecl() == array;
      auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(statement);
      elements += element && named_variable(element->getBase()) == array && is_used_in_place(source, element);
      return true;
    });
  return named == elements;
}

/// `C[i] = 0;` in front of the loop, with nothing in between but constants stored elsewhere: the store that the
/// register takes the place of. Null: there is none.
const clang::BinaryOperator* stored_before(const KernelSource& source, const clang::ForStmt* loop,
                                           const clang::ArraySubscriptExpr* element) {
  const auto body = llvm::cast<clang::CompoundStmt>(source.parent(loop))->body();
  auto at = std::find(body.begin(), body.end(), loop);
  while (at != body.begin()) {
    auto* store = llvm::dyn_cast<clang::BinaryOperator>(*--at);
    auto* place = store && store->getOpcode() == clang::BO_Assign
                      ? llvm::dyn_cast<clang::ArraySubscriptExpr>(store->getLHS()->IgnoreParens())
                      : nullptr;
    if (!place) return nullptr;
    if (squeezed(source.spelled(place)) == squeezed(source.spelled(element))) return store;
    if (store->getRHS()->isValueDependent() || !store->getRHS()->isEvaluatable(source.context())) return nullptr;
  }
  return nullptr;
}

/// Appends edits that keep `element` in a register during the loop; false if that is not possible. `guard`: name of
/// a variable that must be true for accesses outside the loop; empty: none is needed.
bool promote(const KernelSource& source, const clang::ForStmt* loop, const clang::ArraySubscriptExpr* element,
             const std::string& guard, Opportunity& into) {
  auto* base = named_variable(element->getBase());
  std::string element_text = source.spelled(element), same = squeezed(element_text);
  // Within the loop the array must be accessed at this element only, spelled the same way.
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
    // An address may lead to neighbouring elements, or to an atomic operation that other threads wait for.
    bool address = around && around->getOpcode() == clang::UO_AddrOf;
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
  bool plain =
      !type->isDependentType() && type->isBuiltinType() && !spelled_by_macro(source, base) && !source.is_generic(base);
  if (!plain && !guard.empty()) return false;
  std::string spelled_type = plain ? type.getAsString(source.context().getPrintingPolicy()) : "auto";
  std::string indent = source.indentation(begin->begin);
  auto* store = plain && guard.empty() ? stored_before(source, loop, element) : nullptr;
  auto place = store ? source.span(store->getLHS()) : std::nullopt,
       value = store ? source.span(store->getRHS()) : std::nullopt;
  if (place && value) into.edits.push_back({place->begin, value->begin, spelled_type + " " + name + " = "});
  else
    into.edits.push_back({begin->begin, begin->begin,
                          spelled_type + " " + name + " = " + (guard.empty() ? "" : guard + " ? ") + element_text +
                              (guard.empty() ? "" : " : 0") + ";\n" + indent});
  for (auto& use : uses) into.edits.push_back({use.begin, use.end, name});
  into.edits.push_back(
      {*end, *end, "\n" + indent + (guard.empty() ? "" : "if (" + guard + ") ") + element_text + " = " + name + ";"});
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
  const std::string condition = has_iterations(source, loop), guard = source.fresh_name("has_iterations");
  bool guarded = false;
  const bool breaks = may_break(source, loop);
  walk(loop->getBody(), [&](const clang::Stmt* statement) {
    auto* element = assigned_element(statement);
    auto* base = element ? named_variable(element->getBase()) : nullptr;
    const bool shared = base && is_shared_array(source, base);
    if (base && (shared || (base->getType()->isPointerType() && !changed.contains(base))) &&
        is_invariant(element->getIdx(), changed) &&
        ((!breaks && !is_conditional(source, statement, loop)) || is_accessed_before(source, loop, element)) &&
        seen.insert(base).second) {
      const bool needs_guard = !may_be_accessed(source, loop, element),
                 others = !shared && touches_other_memory(loop, base);
      if ((needs_guard && condition.empty()) || (others && !facts.is_unaliased(source, base, loop)) ||
          !promote(source, loop, element, needs_guard ? guard : "", found))
        return true;
      guarded |= needs_guard;
      if (others) apart.insert(base->getNameAsString());
    }
    return true;
  });
  if (found.edits.empty()) return std::nullopt;
  if (auto begin = source.span(loop); guarded)
    found.edits.insert(found.edits.begin(),
                       {begin->begin, begin->begin,
                        "const bool " + guard + " = " + condition + ";\n" + source.indentation(begin->begin)});
  found.place += " in " + source.name(loop);
  if (!apart.empty()) found.premises.push_back(facts.no_overlap(apart));
  return found;
}

std::vector<Opportunity> find_scalar_promotion(const KernelSource& source, const RuleContext& facts, const Bindings&) {
  std::vector<Opportunity> found;
  for (auto* function : source.functions())
    for (auto* loop : loops_in(function))
      if (auto opportunity = in_loop(source, facts, loop)) found.push_back(std::move(*opportunity));
  return found;
}

}  // namespace

const Rule kScalarPromotion = {
    "scalar_promotion",
    "keep a loop's accumulator in a register instead of memory",
    "the element's index does not change in the loop, every iteration accesses it, or the thread did before, and no "
    "other element, and no other pointer leads to it",
    {},
    find_scalar_promotion,
    {Bound::Latency, Bound::Memory},
    0.2,
    true};

}  // namespace kernelift::tuner
