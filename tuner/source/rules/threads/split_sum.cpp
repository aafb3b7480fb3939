// See split_sum.h.
#include "tuner/source/rules/threads/split_sum.h"

#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>

#include "tuner/source/rules/loop_range.h"
#include "tuner/source/rules/spelled_type.h"
#include "tuner/source/rules/threads/axis_dependence.h"

namespace kernelift::tuner {
namespace {

using Variables = std::set<const clang::VarDecl*>;

constexpr size_t kLongestSplit = 4000;  ///< Characters: declarations are repeated.

const clang::ForStmt* loop_of(const clang::Stmt* statement) {
  if (auto* attributed = llvm::dyn_cast<clang::AttributedStmt>(statement)) statement = attributed->getSubStmt();
  return llvm::dyn_cast<clang::ForStmt>(statement);
}

/// The variable of a declaration of nothing else.
const clang::VarDecl* only_variable(const clang::Stmt* statement) {
  auto* declaration = llvm::dyn_cast_or_null<clang::DeclStmt>(statement);
  return declaration && declaration->isSingleDecl() ? llvm::dyn_cast<clang::VarDecl>(declaration->getSingleDecl())
                                                    : nullptr;
}

/// What the statement changes, not counting the variables that it declares.
Variables changed_by(const clang::Stmt* statement) {
  auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement);
  if (!declaration) return changed_within(statement);
  Variables changed;
  for (auto* declared : declaration->decls())
    if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared); variable && variable->getInit())
      changed.merge(changed_within(variable->getInit()));
  return changed;
}

template <class... Kinds>
bool contains(const clang::Stmt* root) {
  bool found = false;
  walk(root, [&](const clang::Stmt* statement) { return !(found |= llvm::isa<Kinds...>(statement)); });
  return found;
}

/// The text contains directives other than pragmas.
bool has_directives(const std::string& text) {
  for (size_t at = text.find('#'); at != text.npos; at = text.find('#', at + 1)) {
    const size_t word = text.find_first_not_of(" \t", at + 1);
    if (word == text.npos || text.compare(word, 6, "pragma") != 0) return true;
  }
  return false;
}

class SplitFinder {
 public:
  SplitFinder(const KernelSource& source, const RuleContext& facts, const clang::FunctionDecl* kernel)
      : source_(source),
        facts_(facts),
        kernel_(kernel),
        body_(llvm::cast<clang::CompoundStmt>(kernel->getBody())),
        loops_(source, facts) {}
  std::optional<SplitKernel> run();

 private:
  bool find_indices();
  bool uses_idle_axis() const;
  bool split_head();
  bool add_guard(const clang::IfStmt* guard, bool leaves);
  bool add_items(const std::vector<const clang::Stmt*>& statements, size_t begin);
  bool find_sums(SplitItem& item);
  bool find_spread(SplitItem& item);
  bool add_variable_sum(SplitItem& item, const std::string& key, const Reduced& reduced);
  bool add_element_sum(SplitItem& item, const clang::Expr* target, const Variables& changed);
  bool find_in_place(SplitSum& sum, const clang::VarDecl* variable, const SplitItem& item);
  bool mark_declarations();
  bool mark_for_spread();
  bool stores_apart();
  bool is_pure(const clang::Stmt* statement) const {
    return !loops_.writes_memory(statement) &&
           !contains<clang::ReturnStmt, clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXNewExpr>(statement);
  }
  bool accessed_before(const SplitItem& item, const std::string& element) const;
  bool is_conditional(const clang::Stmt* statement, const clang::ForStmt* loop) const;
  bool is_gathered(const clang::VarDecl* variable) const { return gathered_.contains(variable); }
  std::string unused_name(const std::string& stem);
  /// Items before the last loop, which threads execute in another order than before.
  std::vector<const SplitItem*> earlier_items() const;

  const KernelSource& source_;
  const RuleContext& facts_;
  const clang::FunctionDecl* kernel_;
  const clang::CompoundStmt* body_;
  LaneLoops loops_;
  SplitKernel found_;
  std::vector<const clang::Stmt*> head_;
  std::set<std::string> names_;
  Variables arrays_;                                                 ///< With an element that is a sum.
  std::map<const clang::VarDecl*, const clang::ForStmt*> gathered_;  ///< Variables that are sums, or contain them.
};

/// The column is the kernel's only use of its indices along x, and there is room for threads along y.
bool SplitFinder::find_indices() {
  auto column = global_index(source_, kernel_, 0);
  if (!column || column->block_only || !counts_by_block(source_, facts_, column->value, 0)) return false;
  found_.column = std::move(*column);
  if (auto row = global_index(source_, kernel_, 1);
      row && !row->block_only && counts_by_block(source_, facts_, row->value, 1))
    found_.row = std::move(*row);
  return uses_idle_axis();
}

bool SplitFinder::uses_idle_axis() const {
  // Threads along y that only repeat the others' work are replaced.
  bool good = std::ranges::all_of(facts_.geometries, [](auto& geometry) { return geometry.block.z == 1; });
  walk(body_, [&](const clang::Stmt* statement) {
    if (statement == found_.column.value || (found_.row && statement == found_.row->value)) return false;
    auto builtin = builtin_of(statement);
    if (!builtin) return good;
    const bool of_grid = builtin->first == "blockIdx" || builtin->first == "gridDim";
    return good &= builtin->second == 'z' || (builtin->second == 'y' && of_grid && !found_.row);
  });
  return good;
}

bool SplitFinder::add_guard(const clang::IfStmt* guard, bool leaves) {
  if (guard->getElse() || guard->hasVarStorage() || guard->getInit() || !is_pure(guard->getCond()) ||
      !changed_within(guard->getCond()).empty())
    return false;
  for (auto* part : parts_of_guard(guard->getCond(), leaves)) found_.guards.push_back({part, leaves});
  return true;
}

/// Separates what every thread does first, guards, and what threads do that have work.
bool SplitFinder::split_head() {
  std::vector<const clang::Stmt*> statements(body_->body_begin(), body_->body_end());
  auto is_guard = [&](const clang::Stmt* statement) {
    auto* branch = llvm::dyn_cast<clang::IfStmt>(statement);
    return branch && !branch->getElse() &&
           (only_returns(branch->getThen()) ||
            (statement == statements.back() && llvm::isa<clang::CompoundStmt>(branch->getThen())));
  };
  auto first = std::ranges::find_if(statements, is_guard);
  if (first == statements.end() || !std::all_of(statements.begin(), first, [&](auto* one) { return is_pure(one); })) {
    first = statements.begin();
    for (auto* last : {found_.column.statement, found_.row ? found_.row->statement : nullptr})
      if (auto at = std::ranges::find(statements, last); last) first = std::max(first, at + 1);
  }
  head_.assign(statements.begin(), first);
  auto has = [&](const GlobalIndex& index) { return std::ranges::find(head_, index.statement) != head_.end(); };
  if (!std::ranges::all_of(head_, [&](auto* one) { return is_pure(one); }) || !has(found_.column) ||
      (found_.row && !has(*found_.row)))
    return false;
  auto begin = first == statements.end() ? std::nullopt : source_.span(*first);
  if (!begin || !source_.first_on_line(begin->begin)) return false;
  found_.begin = source_.line_begin(begin->begin);
  size_t items_begin = found_.begin;
  for (; first != statements.end() && is_guard(*first); ++first) {
    auto* guard = llvm::cast<clang::IfStmt>(*first);
    const bool leaves = only_returns(guard->getThen());
    if (!add_guard(guard, leaves)) return false;
    if (leaves) {
      auto end = source_.statement_end(guard);
      const size_t line = end ? source_.text().find('\n', *end) : std::string::npos;
      if (line == std::string::npos) return false;
      items_begin = line + 1;
      continue;
    }
    found_.branch = guard;
    auto* block = llvm::cast<clang::CompoundStmt>(guard->getThen());
    auto open = source_.offset(block->getLBracLoc());
    const size_t line = open ? source_.text().find('\n', *open) : std::string::npos;
    if (line == std::string::npos) return false;
    return add_items({block->body_begin(), block->body_end()}, line + 1);
  }
  return add_items({first, statements.end()}, items_begin);
}

/// Each statement begins and ends with its lines.
bool SplitFinder::add_items(const std::vector<const clang::Stmt*>& statements, size_t begin) {
  const std::string& text = source_.text();
  for (auto* statement : statements) {
    // Behind a pragma.
    auto* loop = loop_of(statement);
    auto place = source_.span(loop ? loop : statement);
    auto end = place ? source_.statement_end(statement) : std::nullopt;
    if (!end || !source_.first_on_line(place->begin) || place->begin < begin) return false;
    const size_t line = text.find('\n', *end), behind = text.find_first_not_of(" \t", *end);
    if (line == std::string::npos || (behind != line && text.compare(behind, 2, "//") != 0)) return false;
    found_.items.push_back({statement, begin, place->begin, line + 1});
    begin = line + 1;
  }
  return !found_.items.empty();
}

std::vector<const SplitItem*> SplitFinder::earlier_items() const {
  std::vector<const SplitItem*> earlier, all;
  for (auto& item : found_.items) {
    if (item.loop) earlier = all;
    else all.push_back(&item);
  }
  return earlier;
}

std::string SplitFinder::unused_name(const std::string& stem) {
  std::string name = source_.fresh_name(stem);
  for (int other = 2; !names_.insert(name).second; ++other) name = source_.fresh_name(stem + std::to_string(other));
  return name;
}

/// Whether the item, a loop, only adds to sums of the thread and to array elements that stay the same.
bool SplitFinder::find_sums(SplitItem& item) {
  auto* loop = loop_of(item.statement);
  auto counted = loop ? CountedLoop::of(loop) : std::nullopt;
  auto reduced = counted ? loops_.reduced_variables(loop, counted->counter) : std::nullopt;
  if (!reduced || loops_.writes_memory(counted->first) || loops_.writes_memory(loop->getCond())) return false;
  const Variables changed = changed_within(loop);
  item.loop = loop;
  bool good = true;
  walk(loop->getBody(), [&](const clang::Stmt* inner) {
    if (auto* call = llvm::dyn_cast<clang::CallExpr>(inner); call && !assigned_by(call))
      good &= !loops_.writes_memory(call);
    auto* target = good ? assigned_by(inner) : nullptr;
    if (target && loops_.writes_memory(inner)) good &= add_element_sum(item, target, changed);
    return good;
  });
  for (auto& [key, one] : *reduced) good = good && add_variable_sum(item, key, one);
  if (!good || item.sums.empty()) return false;
  auto place = [&](const SplitSum& sum) { return source_.offset(sum.uses.front()->getBeginLoc()); };
  std::ranges::sort(item.sums, [&](auto& one, auto& other) { return place(one) < place(other); });
  return true;
}

bool SplitFinder::add_variable_sum(SplitItem& item, const std::string& key, const Reduced& reduced) {
  SplitSum sum;
  if (reduced.how == Reduced::How::Extremum) sum.function = reduced.function;
  const clang::Expr* object = nullptr;
  walk(item.loop->getBody(), [&](const clang::Stmt* inner) {
    auto* value = llvm::dyn_cast<clang::Expr>(inner);
    if (!value || !llvm::isa<clang::DeclRefExpr, clang::MemberExpr>(value) || squeezed(source_.spelled(value)) != key)
      return true;
    object = value, sum.uses.push_back(value);
    return false;
  });
  auto [place, fresh] = gathered_.emplace(reduced.root, item.loop);
  if (!object || object->getType().isVolatileQualified() || place->second != item.loop) return false;
  sum.target = source_.spelled(object);
  const bool whole = named_variable(object) == reduced.root;
  if (whole) sum.type = spelled_type(source_, reduced.root);
  if (sum.type.empty() && object->getType()->isBuiltinType() && !source_.is_generic(object))
    sum.type = object->getType().getUnqualifiedType().getAsString(source_.context().getPrintingPolicy());
  if (sum.type.empty()) return false;
  sum.bytes = static_cast<size_t>(source_.context().getTypeSizeInChars(object->getType()).getQuantity());
  sum.in_place = whole && find_in_place(sum, reduced.root, item);
  if (!sum.in_place && !sum.function.empty()) return false;  // Threads need a value to begin with.
  std::string stem = sum.target;
  std::ranges::replace(stem, '.', '_');
  sum.part = sum.in_place ? sum.target : unused_name(stem + "_part");
  sum.parts = unused_name(stem + "_parts");
  item.sums.push_back(std::move(sum));
  return true;
}

/// The variable begins as zero, or as a number for an extremum, and is not mentioned before the loop.
bool SplitFinder::find_in_place(SplitSum& sum, const clang::VarDecl* variable, const SplitItem& item) {
  auto* value = variable->getInit();
  const bool constant = value && !value->isValueDependent() && value->isEvaluatable(source_.context());
  if (!constant || !variables_in(value).empty() || (sum.function.empty() && !is_zero(value))) return false;
  const clang::Stmt* declared = nullptr;
  auto look = [&](const clang::Stmt* statement) {
    if (only_variable(statement) == variable) declared = statement;
    else if (variables_in(statement).contains(variable)) return false;
    return true;
  };
  if (!std::ranges::all_of(head_, look)) return false;
  const bool in_head = declared != nullptr;
  for (auto& earlier : found_.items) {
    if (earlier.statement == item.statement) break;
    if (!look(earlier.statement)) return false;
  }
  for (auto& guard : found_.guards)
    if (variables_in(guard.condition).contains(variable)) return false;
  if (!in_head) sum.declaration = declared;
  return declared != nullptr;
}

/// Not every iteration of the loop executes the statement.
bool SplitFinder::is_conditional(const clang::Stmt* statement, const clang::ForStmt* loop) const {
  for (const clang::Stmt* up = source_.parent(statement); up && up != loop; up = source_.parent(up)) {
    auto* binary = llvm::dyn_cast<clang::BinaryOperator>(up);
    if (!(llvm::isa<clang::CompoundStmt, clang::Expr>(up)) || (binary && binary->isLogicalOp()) ||
        llvm::isa<clang::AbstractConditionalOperator>(up))
      return true;
  }
  return contains<clang::ContinueStmt>(loop);
}

/// An unconditional statement before the item accesses the element.
bool SplitFinder::accessed_before(const SplitItem& item, const std::string& element) const {
  for (auto& earlier : found_.items) {
    if (earlier.statement == item.statement) return false;
    auto* target = llvm::isa<clang::Expr>(earlier.statement) ? assigned_by(earlier.statement) : nullptr;
    if (target && squeezed(source_.spelled(target)) == element) return true;
  }
  return false;
}

bool SplitFinder::add_element_sum(SplitItem& item, const clang::Expr* target, const Variables& changed) {
  auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(target->IgnoreParens());
  auto* array = element ? named_variable(element->getBase()) : nullptr;
  const std::string text = element ? source_.spelled(element) : "", key = squeezed(text);
  if (!array || !array->getType()->isPointerType() || text.empty() || changed.contains(array) ||
      !element->getType()->isArithmeticType() || element->getType()->isBooleanType() ||
      element->getType().isVolatileQualified() || !is_invariant(element->getIdx(), changed))
    return false;
  if (!arrays_.insert(array).second)
    return std::ranges::any_of(item.sums, [&](auto& sum) { return squeezed(sum.target) == key; });
  // Every mention of the array in the loop adds to this element.
  SplitSum sum{.target = text, .type = spelled_type(source_, array)};
  size_t mentions = 0, adding = 0;
  const bool integer = element->getType()->isIntegerType();
  walk(item.loop, [&](const clang::Stmt* inner) {
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner);
    mentions += reference && reference->getDecl() == array;
    auto* binary = llvm::dyn_cast<clang::BinaryOperator>(inner);
    if (!binary || !binary->isAssignmentOp() || squeezed(source_.spelled(binary->getLHS())) != key) return true;
    // An integer would drop the fraction of every term.
    if (integer && !binary->getRHS()->IgnoreParenImpCasts()->getType()->isIntegerType()) return true;
    if (binary->getOpcode() == clang::BO_AddAssign || binary->getOpcode() == clang::BO_SubAssign) {
      ++adding;
    } else if (binary->getOpcode() == clang::BO_Assign) {
      auto* value = llvm::dyn_cast<clang::BinaryOperator>(binary->getRHS()->IgnoreParenImpCasts());
      if (!value || value->getOpcode() != clang::BO_Add || squeezed(source_.spelled(value->getLHS())) != key)
        return true;
      adding += 2;
      sum.uses.push_back(value->getLHS()->IgnoreParenImpCasts());
    } else {
      return true;
    }
    sum.uses.push_back(binary->getLHS()->IgnoreParens());
    return true;
  });
  if (sum.type.empty() || mentions == 0 || mentions != adding) return false;
  sum.bytes = static_cast<size_t>(source_.context().getTypeSizeInChars(element->getType()).getQuantity());
  sum.part = unused_name(array->getNameAsString() + "_part");
  sum.parts = unused_name(array->getNameAsString() + "_parts");
  if (!accessed_before(item, key)) {
    // A thread without terms may have no such element.
    if (std::ranges::any_of(sum.uses, [&](auto* use) { return is_conditional(use, item.loop); })) return false;
    auto range = LoopRange::of(item.loop);
    const bool always = range && surely_iterates(source_, *range);
    if (!always) sum.when = has_iterations(source_, item.loop);
    if (!always && sum.when.empty()) return false;
  }
  item.sums.push_back(std::move(sum));
  return true;
}

/// Decides which declarations the shared loops need, and whether the rest needs them, too. Their values must be the
/// same for all threads that share.
bool SplitFinder::mark_declarations() {
  Variables wanted, changed;
  for (auto& item : found_.items) {
    if (item.loop) wanted.merge(variables_in(item.loop));
    else if (!item.spread) changed.merge(changed_by(item.statement));
  }
  auto is_own = [&](const SplitItem& item) {
    return std::ranges::all_of(variables_in(item.loop), [&](auto* variable) {
      return !is_gathered(variable) || gathered_.at(variable) == item.loop;
    });
  };
  if (!std::ranges::all_of(found_.items, [&](auto& item) { return !item.loop || is_own(item); })) return false;
  for (bool again = true; again;) {
    again = false;
    for (auto item = found_.items.rbegin(); item != found_.items.rend(); ++item) {
      auto* declaration = llvm::dyn_cast<clang::DeclStmt>(item->statement);
      if (!declaration || item->for_terms) continue;
      for (auto* declared : declaration->decls()) {
        auto* variable = llvm::dyn_cast<clang::VarDecl>(declared);
        if (!variable) return false;
        item->for_terms |= wanted.contains(variable) && !is_gathered(variable);
      }
      if (!item->for_terms) continue;
      again = true;
      if (!is_pure(declaration)) return false;
      for (auto* declared : declaration->decls()) {
        auto* variable = llvm::cast<clang::VarDecl>(declared);
        if (!variable->hasLocalStorage() || variable->getType()->isReferenceType() || is_gathered(variable))
          return false;
        for (auto* source : variable->getInit() ? variables_in(variable->getInit()) : Variables()) {
          if (is_gathered(source)) return false;
          wanted.insert(source);
        }
      }
    }
  }
  for (auto* variable : wanted)
    if (changed.contains(variable) && !is_gathered(variable)) return false;
  std::set<const clang::Stmt*> hoisted;
  for (auto& item : found_.items)
    for (auto& sum : item.sums) hoisted.insert(sum.declaration);
  Variables result;
  for (auto item = found_.items.rbegin(); item != found_.items.rend(); ++item) {
    if (item->loop) {
      for (auto& sum : item->sums) {
        for (auto* use : sum.uses) result.merge(variables_in(use));
        if (!sum.when.empty()) result.merge(variables_in(item->loop->getCond()));
      }
      continue;
    }
    if (hoisted.contains(item->statement) || item->spread) continue;
    auto* declaration = llvm::dyn_cast<clang::DeclStmt>(item->statement);
    item->for_result =
        !(item->for_terms || item->for_spread) || std::ranges::any_of(declaration->decls(), [&](auto* declared) {
          return result.contains(llvm::dyn_cast<clang::VarDecl>(declared));
        });
    if (item->for_result) result.merge(variables_in(item->statement));
  }
  return true;
}

/// Whether the item is a loop whose iterations are independent. Its threads start behind a barrier.
bool SplitFinder::find_spread(SplitItem& item) {
  auto* loop = loop_of(item.statement);
  auto counted = loop ? CountedLoop::of(loop) : std::nullopt;
  auto reduced = counted ? loops_.reductions(loop, counted->counter) : std::nullopt;
  if (!reduced || !reduced->empty() || loops_.writes_memory(counted->first) || loops_.writes_memory(loop->getCond()))
    return false;
  item.loop = nullptr, item.sums.clear(), item.spread = loop;
  found_.apart.insert(loops_.unaliased().begin(), loops_.unaliased().end());
  return true;
}

/// Whether the loop behind the sums needs nothing but what every thread has, or can compute again.
bool SplitFinder::mark_for_spread() {
  auto& spread = found_.items.back();
  if (!spread.spread) return true;
  Variables wanted = variables_in(spread.spread), changed;
  for (auto& item : found_.items) {
    // A thread that leaves would not reach the barrier.
    if (contains<clang::ReturnStmt>(item.statement)) return false;
    if (!item.loop && !item.spread) changed.merge(changed_by(item.statement));
  }
  for (auto item = found_.items.rbegin(); item != found_.items.rend(); ++item) {
    auto* declaration = llvm::dyn_cast<clang::DeclStmt>(item->statement);
    if (!declaration) continue;
    for (auto* declared : declaration->decls()) {
      auto* variable = llvm::dyn_cast<clang::VarDecl>(declared);
      item->for_spread |= variable && wanted.contains(variable);
    }
    if (!item->for_spread) continue;
    if (accesses_memory({item->statement}) || !is_pure(item->statement)) return false;
    wanted.merge(variables_in(item->statement));
  }
  return std::ranges::none_of(wanted, [&](auto* one) { return changed.contains(one) || is_gathered(one); });
}

/// What is stored before the loops is stored behind them now, and sums of elements are gathered elsewhere: nothing that
/// the loops read may be among it.
bool SplitFinder::stores_apart() {
  Variables stored = arrays_;
  bool good = true;
  for (auto* item : earlier_items()) {
    good &= !contains<clang::ReturnStmt>(item->statement);
    walk(item->statement, [&](const clang::Stmt* inner) {
      if (auto* call = llvm::dyn_cast<clang::CallExpr>(inner); call && !assigned_by(call))
        good &= !loops_.writes_memory(call);
      auto* target = good ? assigned_by(inner) : nullptr;
      if (!target || !loops_.writes_memory(inner)) return good;
      auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(target->IgnoreParens());
      auto* array = element ? named_variable(element->getBase()) : nullptr;
      if (!array || !array->getType()->isPointerType()) return good = false;
      stored.insert(array);
      return good;
    });
  }
  if (!good) return false;
  for (auto& item : found_.items) {
    if (!item.loop && !item.for_terms) continue;
    for (auto* array : stored) {
      const bool own =
          std::ranges::any_of(item.sums, [&](auto& sum) { return variables_in(sum.uses.front()).contains(array); });
      if (!own && variables_in(item.statement).contains(array)) return false;
      if (!accesses_memory({item.statement}) || !touches_other_memory(item.statement, array)) continue;
      if (!facts_.is_unaliased(source_, array, item.statement)) return false;
      found_.apart.insert(array->getNameAsString());
    }
  }
  return true;
}

std::optional<SplitKernel> SplitFinder::run() {
  auto close = source_.offset(body_->getRBracLoc());
  if (!close || !source_.first_on_line(*close) || !is_plain_kernel(source_, kernel_) ||
      source_.spelled(body_).find("__shared__") != std::string::npos || !find_indices() || !split_head())
    return std::nullopt;
  found_.end = source_.line_begin(*close);
  const std::string text = source_.text().substr(found_.begin, found_.end - found_.begin);
  if (text.size() > kLongestSplit || has_directives(text)) return std::nullopt;
  const AxisDependence bounds(source_, {{1, found_.column.variable}});
  for (auto& guard : found_.guards) found_.bounded |= bounds.bounds(guard.condition, guard.leaves) != 0;
  bool any = false;
  for (auto& item : found_.items) {
    // A loop that one thread would execute alone takes as long as before.
    if (contains<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt>(item.statement) &&
        !find_sums(item) && !(any && &item == &found_.items.back() && find_spread(item)))
      return std::nullopt;
    any |= item.loop != nullptr;
  }
  return any && mark_for_spread() && mark_declarations() && stores_apart() ? std::optional(std::move(found_))
                                                                           : std::nullopt;
}

}  // namespace

std::optional<SplitKernel> SplitKernel::find(const KernelSource& source, const RuleContext& facts,
                                             const clang::FunctionDecl* kernel) {
  return llvm::isa<clang::CompoundStmt>(kernel->getBody()) ? SplitFinder(source, facts, kernel).run() : std::nullopt;
}

}  // namespace kernelift::tuner
