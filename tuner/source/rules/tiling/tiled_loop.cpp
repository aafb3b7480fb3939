// See tiled_loop.h.
#include "tuner/source/rules/tiling/tiled_loop.h"

#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>

#include "tuner/source/rules/spelled_type.h"
#include "tuner/source/rules/threads/block_index.h"
#include "tuner/source/rules/threads/jammed_copies.h"
#include "tuner/source/rules/threads/lane_loops.h"
#include "tuner/source/rules/tiling/added_sums.h"
#include "tuner/source/rules/tiling/tile_dependence.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kLongestTiled = 4000;  ///< Characters: the text of an output is repeated in registers.

using Variables = std::set<const clang::VarDecl*>;

/// What a tile can hold: numbers, and what a template's argument decides.
bool is_number(clang::QualType type) {
  return !type.isVolatileQualified() && (type->isDependentType() || type->isArithmeticType());
}

/// The value of the item, or the whole statement.
const clang::Stmt* content_of(const TileItem& item) {
  return item.variable ? static_cast<const clang::Stmt*>(item.variable->getInit()) : item.statement;
}

class TileFinder {
 public:
  TileFinder(const KernelSource& source, const RuleContext& facts, const clang::FunctionDecl* kernel)
      : source_(source), facts_(facts), kernel_(kernel), body_(llvm::cast<clang::CompoundStmt>(kernel->getBody())) {}
  std::optional<TiledLoop> run();
  /// Why run() found nothing although there is a loop that looks like a product's; else empty.
  const std::string& why_not() const { return why_not_; }

 private:
  struct GuardPart {
    const clang::Expr* condition = nullptr;
    bool leaves = false;
  };

  bool flatten(const std::vector<const clang::Stmt*>& statements, std::vector<TileItem>& items, bool outermost);
  /// The loop reads elements by row and iteration, and others by column and iteration.
  bool looks_like_product() const;
  std::nullopt_t give_up(const std::string& why);
  bool find_indices();
  bool uses_no_other_index() const;
  bool find_loop();
  bool find_sums();
  bool add_element_sum(const clang::ArraySubscriptExpr* element);
  bool start_sums();
  bool find_loads(const clang::Stmt* statement, bool conditional);
  /// `use`: the load, or a call or product of it.
  bool add_load(const clang::ArraySubscriptExpr* load, const clang::Stmt* use, bool conditional);
  bool sort_declarations();
  bool find_stores();
  bool stores_apart();
  bool add_triangle(const clang::Expr* condition, bool leaves);
  bool add_guards();
  void orient();
  bool is_pure(const clang::Expr* value) const;
  bool reads_stored_array(const clang::Stmt* value) const;
  std::string unused_name(const std::string& stem);
  unsigned bytes_of(clang::QualType type) const {
    return type->isDependentType() ? 4
                                   : static_cast<unsigned>(source_.context().getTypeSizeInChars(type).getQuantity());
  }
  TileSum* sum_of(const clang::VarDecl* variable) {
    auto found = std::ranges::find_if(found_.sums, [&](auto& sum) { return sum.variable == variable; });
    return found == found_.sums.end() ? nullptr : &*found;
  }
  bool mentioned(const std::vector<TileItem>& items, const clang::VarDecl* variable) const {
    return std::ranges::any_of(items, [&](auto& item) { return mentions(content_of(item), variable); });
  }

  const KernelSource& source_;
  const RuleContext& facts_;
  const clang::FunctionDecl* kernel_;
  const clang::CompoundStmt* body_;
  TiledLoop found_;
  TileDependence depends_;
  std::vector<TileItem> items_, body_items_;
  std::vector<GuardPart> guards_;
  Variables stored_;
  std::set<std::string> names_;  ///< Of registers.
  std::string why_not_;
};

/// Lists the statements, each declared variable apart, and descends into guards.
bool TileFinder::flatten(const std::vector<const clang::Stmt*>& statements, std::vector<TileItem>& items,
                         bool outermost) {
  for (auto* statement : statements) {
    if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement)) {
      for (auto* declared : declaration->decls()) {
        auto* variable = llvm::dyn_cast<clang::VarDecl>(declared);
        if (!variable || !variable->hasLocalStorage() || variable->hasAttr<clang::CUDASharedAttr>() ||
            variable->getType()->isReferenceType() || variable->getType()->isArrayType())
          return false;
        items.push_back({statement, variable});
      }
      continue;
    }
    auto* branch = llvm::dyn_cast<clang::IfStmt>(statement);
    const bool leaves = branch && only_returns(branch->getThen()), last = statement == statements.back();
    const bool guards = outermost && branch && !branch->getElse() && !branch->hasVarStorage() && !branch->getInit() &&
                        (leaves || last) && is_invariant(branch->getCond(), {}) &&
                        std::ranges::all_of(items, [](auto& item) { return item.variable != nullptr; });
    if (guards) {
      for (auto* part : parts_of_guard(branch->getCond(), leaves)) guards_.push_back({part, leaves});
      if (leaves) continue;
      auto* block = llvm::dyn_cast<clang::CompoundStmt>(branch->getThen());
      std::vector<const clang::Stmt*> inside{branch->getThen()};
      if (block) inside.assign(block->body_begin(), block->body_end());
      return flatten(inside, items, true);
    }
    bool returns = false;
    walk(statement, [&](const clang::Stmt* inner) { return !(returns |= llvm::isa<clang::ReturnStmt>(inner)); });
    if (returns) return false;
    if (!llvm::isa<clang::NullStmt>(statement)) items.push_back({statement});
  }
  return true;
}

/// Takes the declarations of row and column, and those of `tx = threadIdx.x` and the like, off the list.
bool TileFinder::find_indices() {
  std::map<std::string, std::string> builtins;
  std::vector<TileIndex> indices;
  std::vector<TileItem> others;
  for (auto& item : items_) {
    auto* variable = item.variable;
    auto* value = variable ? variable->getInit() : nullptr;
    if (!value || !variable->getType()->isIntegerType() || depends_.changes(variable)) {
      others.push_back(item);
      continue;
    }
    auto builtin = builtin_of(value->IgnoreParenCasts());
    if (builtin && builtin->second && builtin->second != 'z') {
      builtins[variable->getNameAsString()] = builtin->first + "." + builtin->second;
      continue;
    }
    std::string text = with_names(source_.spelled(value), builtins);
    int axis = is_global_index(text, 0) ? 0 : is_global_index(text, 1) ? 1 : -1;
    if (axis < 0) others.push_back(item);
    else indices.push_back({variable, axis, variable->getNameAsString(), spelled_type(source_, variable)});
  }
  if (indices.size() != 2 || indices[0].axis == indices[1].axis || indices[0].type.empty() || indices[1].type.empty())
    return false;
  if (indices[0].axis == 0) std::swap(indices[0], indices[1]);
  found_.row = indices[0], found_.column = indices[1];  // Unless orient() finds otherwise.
  items_ = std::move(others);
  // Nothing else may mention what was taken off.
  for (auto& [name, text] : builtins)
    for (auto& item : items_)
      for (auto* mentioned : content_of(item) ? variables_in(content_of(item)) : Variables())
        if (mentioned->getNameAsString() == name) return false;
  return uses_no_other_index();
}

bool TileFinder::uses_no_other_index() const {
  bool none = true;
  auto look = [&](const clang::Stmt* root) {
    walk(root, [&](const clang::Stmt* statement) {
      auto builtin = builtin_of(statement);
      return none &= !builtin || (builtin->first == "blockIdx" && builtin->second == 'z');
    });
  };
  for (auto& item : items_) look(content_of(item));
  for (auto& guard : guards_) look(guard.condition);
  return none;
}

bool TileFinder::find_loop() {
  auto place = std::ranges::find_if(items_, [](auto& item) {
    auto* loop = item.variable ? nullptr : llvm::dyn_cast<clang::ForStmt>(item.statement);
    auto counted = loop ? CountedLoop::of(loop) : std::nullopt;
    return counted && !counted->step;
  });
  if (place == items_.end()) return false;
  found_.loop = llvm::cast<clang::ForStmt>(place->statement);
  found_.before.assign(items_.begin(), place), found_.after.assign(place + 1, items_.end());
  const CountedLoop counted = *CountedLoop::of(found_.loop);
  auto* condition = llvm::cast<clang::BinaryOperator>(found_.loop->getCond());
  found_.counter = counted.counter, found_.counter_type = spelled_type(source_, counted.counter);
  found_.first = source_.spelled(counted.first), found_.bound = source_.spelled(condition->getRHS());
  const bool simple = llvm::isa<clang::DeclRefExpr, clang::IntegerLiteral, clang::ParenExpr, clang::MemberExpr>(
      condition->getRHS()->IgnoreImpCasts());
  if (!simple) found_.bound = "(" + found_.bound + ")";
  if (condition->getOpcode() == clang::BO_LE) found_.bound += " + 1";
  if (found_.counter_type.empty() || found_.first.empty() || found_.bound.empty() ||
      mentioned(found_.before, found_.counter) || mentioned(found_.after, found_.counter))
    return false;
  depends_.set_indices(found_.row.variable, found_.column.variable, found_.counter);
  // Every thread of a block has the same iterations, which it knows before.
  if (!is_invariant(counted.first, {}) || !is_invariant(condition->getRHS(), {}) || depends_.of(counted.first) ||
      depends_.of(condition->getRHS()))
    return false;
  auto* block = llvm::dyn_cast<clang::CompoundStmt>(found_.loop->getBody());
  std::vector<const clang::Stmt*> statements{found_.loop->getBody()};
  if (block) statements.assign(block->body_begin(), block->body_end());
  return flatten(statements, body_items_, false);
}

/// The loop changes its own variables and accumulators, and does nothing else.
bool TileFinder::find_sums() {
  bool good = true;
  LaneLoops lanes(source_, facts_);
  for (auto& item : body_items_)
    walk(content_of(item), [&](const clang::Stmt* statement) {
      good &= !llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt, clang::SwitchStmt,
                         clang::BreakStmt, clang::ContinueStmt, clang::CXXNewExpr>(statement);
      if (llvm::isa<clang::CallExpr>(statement)) good &= !lanes.writes_memory(statement);
      auto* target = good ? assigned_by(statement) : nullptr;
      if (!target) return good;
      target = target->IgnoreParens();
      if (auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(target)) return good = add_element_sum(element);
      auto* variable = llvm::isa<clang::DeclRefExpr>(target) ? named_variable(target) : nullptr;
      auto declared = [&](auto& one) { return one.variable == variable; };
      if (!variable || !is_number(variable->getType())) return good = false;
      if (std::ranges::any_of(body_items_, declared) || sum_of(variable)) return true;
      const std::string type = spelled_type(source_, variable);
      if (std::ranges::none_of(found_.before, declared) || type.empty()) return good = false;
      found_.sums.push_back(
          {variable->getNameAsString(), type, variable, nullptr, false, false, bytes_of(variable->getType())});
      return true;
    });
  return good && !found_.sums.empty() && start_sums();
}

bool TileFinder::add_element_sum(const clang::ArraySubscriptExpr* element) {
  auto* array = named_variable(element->getBase());
  const std::string text = source_.spelled(element), type = array ? spelled_type(source_, array) : "";
  if (!array || !array->getType()->isPointerType() || !array->hasLocalStorage() || text.empty() || type.empty() ||
      !is_number(element->getType()) || depends_.of(element) != (kTileRow | kTileColumn) ||
      !is_invariant(element->getIdx(), {}))
    return false;
  if (auto* sum = sum_of(array)) return squeezed(source_.spelled(sum->element)) == squeezed(text);
  // The array is accessed at this element only, spelled the same way.
  size_t mentions = 0, uses = 0;
  walk(body_, [&](const clang::Stmt* statement) {
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
    mentions += reference && reference->getDecl() == array;
    auto* use = llvm::dyn_cast<clang::ArraySubscriptExpr>(statement);
    uses += use && named_variable(use->getBase()) == array && squeezed(source_.spelled(use)) == squeezed(text);
    return true;
  });
  if (mentions != uses) return false;
  stored_.insert(array);
  found_.sums.push_back(
      {unused_name(array->getNameAsString() + "_sum"), type, array, element, true, true, bytes_of(element->getType())});
  return true;
}

/// How accumulators begin. Registers begin as zero, so that a statement which sets one to zero is dropped.
bool TileFinder::start_sums() {
  for (auto& sum : found_.sums) {
    if (!sum.element) {
      std::erase_if(found_.before, [&](auto& item) {
        return item.variable == sum.variable && (!item.variable->getInit() || is_zero(item.variable->getInit()));
      });
      continue;
    }
    auto mentions_sum = [&](const TileItem& item) { return mentions(content_of(item), sum.variable); };
    for (auto* items : {&found_.before, &found_.after})
      for (auto& item : *items)
        if (mentions_sum(item)) {
          if (!item.variable && !llvm::isa<clang::Expr>(item.statement)) return false;  // It may be conditional.
          sum.only_in_loop = false;
        }
    auto first = std::ranges::find_if(found_.before, mentions_sum);
    auto* set = first == found_.before.end() || first->variable
                    ? nullptr
                    : llvm::dyn_cast<clang::BinaryOperator>(first->statement);
    if (!set || set->getOpcode() != clang::BO_Assign || mentions(set->getRHS(), sum.variable) ||
        !llvm::isa<clang::ArraySubscriptExpr>(set->getLHS()->IgnoreParens()))
      continue;
    sum.loaded = false;
    if (is_zero(set->getRHS())) found_.before.erase(first);
  }
  return true;
}

bool TileFinder::find_loads(const clang::Stmt* statement, bool conditional) {
  if (!statement || builtin_of(statement)) return true;
  if (auto* load = read_through_cache(statement)) return add_load(load, statement, conditional);
  if (auto* unary = llvm::dyn_cast<clang::UnaryOperator>(statement);
      unary && (unary->getOpcode() == clang::UO_Deref || unary->getOpcode() == clang::UO_AddrOf))
    return false;
  if (auto* member = llvm::dyn_cast<clang::MemberExpr>(statement); member && member->isArrow()) return false;
  if (auto* load = llvm::dyn_cast<clang::ArraySubscriptExpr>(statement)) return add_load(load, load, conditional);
  if (auto* load = scaled_load(source_, depends_, statement)) return add_load(load, statement, conditional);
  auto* binary = llvm::dyn_cast<clang::BinaryOperator>(statement);
  conditional |= llvm::isa<clang::IfStmt, clang::ConditionalOperator>(statement) || (binary && binary->isLogicalOp());
  return std::ranges::all_of(statement->children(), [&](auto* child) { return find_loads(child, conditional); });
}

bool TileFinder::add_load(const clang::ArraySubscriptExpr* load, const clang::Stmt* use, bool conditional) {
  if (sum_of(named_variable(load->getBase()))) return true;
  const clang::Expr* base = load;
  while (auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(base))
    base = element->getBase()->IgnoreParenImpCasts();
  auto* array = named_variable(base);
  const std::string text = source_.spelled(use), type = array ? spelled_type(source_, array) : "";
  if (!array || text.empty() || type.empty() || !is_number(load->getType()) || !is_pure(load)) return false;
  const TileAxes axes = depends_.of(load);
  if (axes == 0 || axes == kTileStep) return true;  // The same for all threads.
  if (conditional || axes == (kTileRow | kTileColumn | kTileStep)) return false;
  if (!(axes & kTileStep)) {
    for (auto& kept : found_.kept)
      if (!kept.variable && squeezed(kept.value) == squeezed(text)) return kept.uses.push_back(use), true;
    found_.kept.push_back({unused_name(array->getNameAsString() + "_kept"), type, text, axes, nullptr, {use}});
    return true;
  }
  for (auto& operand : found_.operands)
    if (squeezed(operand.element) == squeezed(text)) return operand.uses.push_back(use), true;
  TileOperand operand{array->getNameAsString(), type, text};
  operand.bytes = bytes_of(load->getType());
  operand.of_rows = axes & kTileRow;
  operand.along_steps = depends_.is_adjacent(load, found_.counter);
  operand.uses = {use};
  found_.operands.push_back(std::move(operand));
  return true;
}

bool TileFinder::is_pure(const clang::Expr* value) const {
  bool pure = true;
  LaneLoops lanes(source_, facts_);
  walk(value, [&](const clang::Stmt* statement) {
    if (llvm::isa<clang::CallExpr>(statement)) pure &= !lanes.writes_memory(statement);
    return pure &= !assigned_by(statement) && !llvm::isa<clang::LambdaExpr, clang::CXXNewExpr>(statement);
  });
  return pure;
}

std::string TileFinder::unused_name(const std::string& stem) {
  std::string name = source_.fresh_name(stem);
  for (int other = 2; !names_.insert(name).second; ++other) name = source_.fresh_name(stem + std::to_string(other));
  return name;
}

bool TileFinder::reads_stored_array(const clang::Stmt* value) const {
  return std::ranges::any_of(stored_, [&](auto* array) { return mentions(value, array); });
}

/// Decides for each declaration where it is written: once for all threads, wherever it is needed, in registers for the
/// loop, or where it stood.
bool TileFinder::sort_declarations() {
  std::vector<TileItem> before, moved;
  auto loop_reads = [&](const clang::VarDecl* variable) {
    bool reads = false;
    for (auto& item : found_.body)
      walk(content_of(item), [&](const clang::Stmt* statement) {
        for (auto& operand : found_.operands)
          if (std::ranges::find(operand.uses, statement) != operand.uses.end()) return false;
        auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
        reads |= reference && reference->getDecl() == variable;
        return !reads;
      });
    return reads;
  };
  // Variables of the loop's body that only operands' elements mention are declared where these are loaded.
  found_.body = body_items_;
  for (auto item = body_items_.rbegin(); item != body_items_.rend(); ++item) {
    auto* variable = item->variable;
    if (!variable || depends_.changes(variable) || !variable->getInit() || !is_pure(variable->getInit())) continue;
    found_.locals.insert(found_.locals.begin(), *item);
    if (!loop_reads(variable)) std::erase_if(found_.body, [&](auto& one) { return one.variable == variable; });
  }
  std::vector<TileItem> repeated;
  for (auto& item : found_.before) {
    auto* variable = item.variable;
    if (!variable || sum_of(variable)) {
      before.push_back(item);
      continue;
    }
    if (variable == found_.counter) continue;
    auto* value = variable->getInit();
    const TileAxes axes = value ? depends_.of(value) : kTileRow | kTileColumn | kTileStep;
    const bool stays = value && !depends_.changes(variable) && is_pure(value) && !(axes & kTileStep);
    const bool in_loop = loop_reads(variable) || mentions(found_.loop, variable),
               in_after = mentioned(found_.after, variable);
    if (stays && !reads_stored_array(value)) {
      if (axes == 0) {
        found_.uniform.push_back(item);
        continue;
      }
      repeated.push_back(item);
      if (!loop_reads(variable)) continue;
      const std::string type = spelled_type(source_, variable);
      if (type.empty() || !is_number(variable->getType())) return false;
      found_.kept.push_back(
          {unused_name(variable->getNameAsString() + "_kept"), type, source_.spelled(value), axes, variable});
      continue;
    }
    if (in_loop) return false;
    if (!in_after) before.push_back(item);
    else if (mentioned(found_.before, variable)) return false;
    else moved.push_back(item);
  }
  // What is read later has to be the same then.
  for (auto& item : moved)
    if (content_of(item) && reads_stored_array(content_of(item)) &&
        std::ranges::any_of(before, [](auto& one) { return one.variable == nullptr; }))
      return false;
  found_.locals.insert(found_.locals.begin(), repeated.begin(), repeated.end());
  found_.before = std::move(before);
  found_.after.insert(found_.after.begin(), moved.begin(), moved.end());
  return true;
}

/// Arrays that are stored to before and after the loop. The loop must not read them.
bool TileFinder::find_stores() {
  bool good = true;
  LaneLoops lanes(source_, facts_);
  for (auto* items : {&found_.before, &found_.after})
    for (auto& item : *items)
      walk(content_of(item), [&](const clang::Stmt* statement) {
        if (llvm::isa<clang::CallExpr>(statement)) good &= !lanes.writes_memory(statement);
        auto* target = good ? assigned_by(statement) : nullptr;
        if (!target) return good;
        auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(target->IgnoreParens());
        auto* variable = element ? named_variable(element->getBase()) : variable_of(target);
        if (!variable || !variable->hasLocalStorage() || variable->getType()->isReferenceType()) return good = false;
        if (element && variable->getType()->isPointerType()) stored_.insert(variable);
        else good &= !llvm::isa<clang::ParmVarDecl>(variable);
        return good;
      });
  return good;
}

/// Whether the condition compares row and column, so that only a triangle of outputs has work.
bool TileFinder::add_triangle(const clang::Expr* condition, bool leaves) {
  auto* comparison = llvm::dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
  if (!comparison || !comparison->isRelationalOp()) return false;
  auto *left = named_variable(comparison->getLHS()), *right = named_variable(comparison->getRHS());
  auto compares = [&](auto* small, auto* large) { return small == left && large == right; };
  const auto operation =
      leaves ? clang::BinaryOperator::negateComparisonOp(comparison->getOpcode()) : comparison->getOpcode();
  const bool less = operation == clang::BO_LT || operation == clang::BO_LE;
  const clang::VarDecl *row = found_.row.variable, *column = found_.column.variable;
  if (!compares(row, column) && !compares(column, row)) return false;
  (compares(column, row) == less ? found_.lower : found_.upper) = true;
  return true;
}

bool TileFinder::add_guards() {
  const AxisDependence bounds(source_, {{1, found_.row.variable}, {1, found_.column.variable}});
  std::string row_bound, column_bound;
  auto add = [](std::string& all, const std::string& text) { all += (all.empty() ? "" : " && ") + text; };
  for (auto& [condition, leaves] : guards_) {
    const std::string text = condition_text(source_, condition, leaves);
    const TileAxes axes = depends_.of(condition), bounded = bounds.bounds(condition, leaves);
    if (text.empty() || axes & kTileStep) return false;
    for (auto* variable : variables_in(condition))
      if (variable != found_.row.variable && variable != found_.column.variable && depends_.of_variable(variable))
        return false;
    add(found_.guard, text);
    if (axes == (kTileRow | kTileColumn)) {
      if (!add_triangle(condition, leaves)) return false;
      continue;
    }
    if (axes != kTileColumn) add(found_.row.guard, text);
    if (axes != kTileRow) add(found_.column.guard, text);
    if (bounded & kTileRow) add(row_bound, text);
    if (bounded & kTileColumn) add(column_bound, text);
  }
  found_.row.bounded = !row_bound.empty(), found_.column.bounded = !column_bound.empty();
  // What bounds the larger of two indices bounds the smaller one, too.
  auto bound_by = [&](TileIndex& smaller, const TileIndex& larger, const std::string& bound) {
    if (smaller.bounded || bound.empty()) return;
    add(smaller.guard, with_names(bound, {{larger.name, smaller.name}}));
    smaller.bounded = true;
  };
  if (found_.lower) bound_by(found_.column, found_.row, row_bound);
  if (found_.upper) bound_by(found_.row, found_.column, column_bound);
  return !(found_.lower && found_.upper);
}

/// What the loop reads, and what is read anew, is not what the kernel stores.
bool TileFinder::stores_apart() {
  std::vector<const clang::Stmt*> readers{found_.loop};
  for (auto* items : {&found_.uniform, &found_.locals})
    for (auto& item : *items)
      if (accesses_memory({item.variable->getInit()})) readers.push_back(item.variable->getInit());
  for (auto* array : stored_) {
    if (!sum_of(array) && mentions(found_.loop, array)) return false;
    for (auto* reader : readers) {
      if (!touches_other_memory(reader, array)) continue;
      if (!facts_.is_unaliased(source_, array, reader)) return false;
      found_.apart.insert(array->getNameAsString());
    }
  }
  return true;
}

/// Makes the index of adjacent outputs the column, along which neighbouring threads differ.
void TileFinder::orient() {
  const clang::Expr* output = nullptr;
  auto look = [&](const clang::Stmt* root) {
    walk(root, [&](const clang::Stmt* statement) {
      auto* target = output ? nullptr : assigned_by(statement);
      auto* element = target ? llvm::dyn_cast<clang::ArraySubscriptExpr>(target->IgnoreParens()) : nullptr;
      if (element && depends_.of(element) == (kTileRow | kTileColumn)) output = element;
      return !output;
    });
  };
  look(found_.loop);
  for (auto& item : found_.after) look(content_of(item));
  if (!output || !depends_.is_adjacent(output, found_.row.variable) ||
      depends_.is_adjacent(output, found_.column.variable))
    return;
  std::swap(found_.row, found_.column);
  depends_.set_indices(found_.row.variable, found_.column.variable, found_.counter);
}

bool TileFinder::looks_like_product() const {
  bool by_row = false, by_column = false;
  walk(found_.loop, [&](const clang::Stmt* statement) {
    if (!llvm::isa<clang::ArraySubscriptExpr>(statement)) return true;
    const TileAxes axes = depends_.of(statement);
    by_row |= axes == (kTileRow | kTileStep), by_column |= axes == (kTileColumn | kTileStep);
    return true;
  });
  return by_row && by_column;
}

std::nullopt_t TileFinder::give_up(const std::string& why) {
  if (looks_like_product()) why_not_ = source_.name(found_.loop) + ": " + why;
  return std::nullopt;
}

std::optional<TiledLoop> TileFinder::run() {
  auto close = source_.offset(body_->getRBracLoc());
  auto first = body_->body_empty() ? std::nullopt : source_.span(body_->body_front());
  if (!close || !first || !source_.first_on_line(first->begin) || *close - first->begin > kLongestTiled ||
      !is_plain_kernel(source_, kernel_))
    return std::nullopt;
  found_.begin = first->begin, found_.end = *close;
  if (!flatten({body_->body_begin(), body_->body_end()}, items_, true)) return std::nullopt;
  depends_.note_changes(body_);
  if (!find_indices() || !find_loop()) return std::nullopt;
  orient();
  if (!find_sums())
    return give_up("it does more than add to variables of the thread and to an element that only this thread has");
  if (!find_stores()) return give_up("the kernel stores to something else than elements of its pointers");
  for (auto& item : body_items_)
    if (!find_loads(content_of(item), false))
      return give_up(
          "an operand is read under a condition, through a structure or another pointer, or by row, column "
          "and iteration at once");
  auto operand_of = [&](bool rows) {
    return std::ranges::any_of(found_.operands, [&](auto& operand) { return operand.of_rows == rows; });
  };
  if (!operand_of(true) || !operand_of(false)) return std::nullopt;
  if (!sort_declarations()) return give_up("a variable that it needs changes between threads or iterations");
  if (!add_guards()) return give_up("a guard of the kernel compares more than its row and column with values");
  if (!stores_apart()) return give_up("what the kernel stores may be what the loop reads");
  found_.only_adds = only_adds(source_, found_.loop->getBody(), found_.sums);
  return std::move(found_);
}

}  // namespace

std::optional<TiledLoop> TiledLoop::find(const KernelSource& source, const RuleContext& facts,
                                         const clang::FunctionDecl* kernel, std::string* why_not) {
  if (!llvm::isa<clang::CompoundStmt>(kernel->getBody())) return std::nullopt;
  TileFinder finder(source, facts, kernel);
  auto found = finder.run();
  if (why_not) *why_not = finder.why_not();
  return found;
}

std::vector<TileItem> TiledLoop::needed_by(const std::vector<const clang::Stmt*>& statements) const {
  Variables wanted;
  for (auto* statement : statements)
    if (statement) wanted.merge(variables_in(statement));
  std::vector<TileItem> needed;
  for (auto item = locals.rbegin(); item != locals.rend(); ++item) {
    if (!wanted.contains(item->variable)) continue;
    needed.insert(needed.begin(), *item);
    wanted.merge(variables_in(item->variable->getInit()));
  }
  return needed;
}

}  // namespace kernelift::tuner
