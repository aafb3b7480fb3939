// A walk records arrays, subscripts and assignments; whether an index is bounded is decided afterwards.
#include "extractor/scan/capacities.h"

#include <algorithm>

#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"

namespace kernelift::extractor {

using namespace clang;

void Capacities::take(const Closure& closure) {
  for (int index : closure.items)
    if (taken_.insert(index).second)
      for (auto* declaration : items_[index].declarations) TraverseDecl(const_cast<Decl*>(declaration));
}

bool Capacities::VisitFunctionDecl(FunctionDecl* function) {
  if (function->doesThisDeclarationHaveABody() && is_host_only(function)) left_out_.insert(function->getBody());
  return true;
}

bool Capacities::VisitForStmt(ForStmt* loop) {
  add_all(loop->getInit(), heads_), add_all(loop->getInc(), heads_);
  std::set<const ValueDecl*> counters;
  if (auto* declaration = llvm::dyn_cast_or_null<DeclStmt>(loop->getInit()))
    for (auto* one : declaration->decls())
      if (auto* variable = llvm::dyn_cast<VarDecl>(one))
        counters.insert(llvm::cast<ValueDecl>(variable->getCanonicalDecl()));
  std::set<const Stmt*> steps;
  add_all(loop->getInc(), steps);
  for (auto* step : steps) {
    const Expr* target = nullptr;
    if (auto* unary = llvm::dyn_cast<UnaryOperator>(step); unary && unary->isIncrementDecrementOp())
      target = unary->getSubExpr();
    if (auto* binary = llvm::dyn_cast<BinaryOperator>(step); binary && binary->isAssignmentOp())
      target = binary->getLHS();
    if (auto* variable = target ? variable_in(target) : nullptr) counters.insert(variable);
  }
  for (auto* one : counters) counters_[one].push_back(loop);
  return true;
}

bool Capacities::VisitBinaryOperator(BinaryOperator* op) {
  if (!op->isAssignmentOp() || heads_.contains(op)) return true;
  if (auto* variable = variable_in(op->getLHS()))
    (op->getOpcode() == BO_Assign ? assigned_ : changed_).insert(variable);
  return true;
}

bool Capacities::VisitUnaryOperator(UnaryOperator* op) {
  if (heads_.contains(op) || !(op->isIncrementDecrementOp() || op->getOpcode() == UO_AddrOf)) return true;
  if (auto* variable = variable_in(op->getSubExpr())) changed_.insert(variable);
  return true;
}

Capacities::Array* Capacities::array_of(const ValueDecl* declaration) {
  auto* declared = llvm::dyn_cast<DeclaratorDecl>(declaration);
  if (!declared || llvm::isa<ParmVarDecl>(declared) || !declared->getTypeSourceInfo()) return nullptr;
  const ValueDecl* key = llvm::cast<ValueDecl>(declaration->getCanonicalDecl());
  if (auto known = arrays_.find(key); known != arrays_.end()) return &known->second;
  Array array;
  TypeLoc type = declared->getTypeSourceInfo()->getTypeLoc();
  for (;;) {
    type = type.getUnqualifiedLoc();
    if (auto one = type.getAs<ArrayTypeLoc>()) array.extents.push_back(one.getSizeExpr()), type = one.getElementLoc();
    else if (auto named = type.getAs<TypedefTypeLoc>(); named && named.getDecl()->getTypeSourceInfo())
      type = named.getDecl()->getTypeSourceInfo()->getTypeLoc();
    else break;
  }
  if (array.extents.empty()) return nullptr;
  array.indices.resize(array.extents.size());
  return &(arrays_[key] = std::move(array));
}

bool Capacities::take_use(const Expr* use, const ValueDecl* declaration) {
  if (subscripted_.contains(use)) return true;
  if (Array* array = array_of(declaration)) array->escapes = true;
  return true;
}

/// Of `tile[y][x]` the whole expression is visited first, then `tile[y]`.
bool Capacities::VisitArraySubscriptExpr(ArraySubscriptExpr* element) {
  if (subscripted_.contains(element)) return true;
  std::vector<const Expr*> indices;
  const Expr* base = element;
  while (auto* one = llvm::dyn_cast<ArraySubscriptExpr>(base)) {
    subscripted_.insert(one);
    indices.insert(indices.begin(), one->getIdx());
    base = one->getBase()->IgnoreParenImpCasts();
  }
  auto* name = llvm::dyn_cast<DeclRefExpr>(base);
  auto* member = llvm::dyn_cast<MemberExpr>(base);
  Array* array = name ? array_of(name->getDecl()) : member ? array_of(member->getMemberDecl()) : nullptr;
  if (!array) return true;
  subscripted_.insert(base);
  for (size_t i = 0; i < std::min(indices.size(), array->indices.size()); ++i) array->indices[i].push_back(indices[i]);
  array->escapes |= indices.size() < array->extents.size();
  return true;
}

void Capacities::judge() {
  for (auto& [declaration, array] : arrays_)
    for (size_t i = 0; i < array.extents.size(); ++i) {
      if (!array.extents[i]) continue;
      Capacity capacity{uses_.leading_to(array.extents[i])};
      capacity.by_threads = array.escapes;
      // No use is known, so it is used in a way that is not followed, such as through a template-dependent member.
      capacity.unbounded = array.indices[i].empty() && !array.escapes;
      judged_.clear();
      for (auto* index : array.indices[i]) capacity.unbounded |= !is_bounded(index, true, capacity);
      capacities_.push_back(std::move(capacity));
    }
}

bool Capacities::grows_only(SourceLocation constant, const std::set<SourceLocation>& geometry) const {
  return std::any_of(capacities_.begin(), capacities_.end(), [&](auto& capacity) {
    if (!capacity.extent.contains(constant)) return false;
    return capacity.unbounded || (capacity.by_threads && !geometry.contains(constant));
  });
}

bool Capacities::shares(const Stmt* text, const Capacity& capacity) const {
  auto places = uses_.leading_to(text);
  return std::any_of(places.begin(), places.end(), [&](auto& place) { return capacity.extent.contains(place); });
}

bool Capacities::depends_on_data(const Stmt* text, std::set<const ValueDecl*>& seen) const {
  if (!text || llvm::isa<ArraySubscriptExpr>(text)) return text != nullptr;
  auto* unary = llvm::dyn_cast<UnaryOperator>(text);
  if (unary && (unary->isIncrementDecrementOp() || unary->getOpcode() == UO_Deref)) return true;
  auto* expression = llvm::dyn_cast<Expr>(text);
  auto* variable = expression && !mentions_thread(expression) ? variable_in(expression) : nullptr;
  if (variable && seen.insert(variable).second) {
    if (changed_.contains(variable) && !counters_.contains(variable)) return true;
    auto& given = uses_.given_to(variable);
    return std::any_of(given.begin(), given.end(), [&](auto* value) { return depends_on_data(value, seen); });
  }
  return std::any_of(text->child_begin(), text->child_end(), [&](auto* child) { return depends_on_data(child, seen); });
}

bool Capacities::is_bounded(const Expr* index, bool whole, Capacity& capacity) {
  index = index->IgnoreParenCasts();
  if (auto* literal = llvm::dyn_cast<IntegerLiteral>(index); literal && literal->getValue() == 0) return true;
  if (is_constant(index)) return !whole || shares(index, capacity);
  auto part = [&](const Expr* one) { return is_bounded(one, false, capacity); };
  auto is_data = [&](const Expr* one) {
    std::set<const ValueDecl*> seen;
    return depends_on_data(one, seen);
  };
  if (auto* binary = llvm::dyn_cast<BinaryOperator>(index)) {
    auto *left = binary->getLHS(), *right = binary->getRHS();
    switch (binary->getOpcode()) {
      case BO_Add:
      case BO_Sub:
      case BO_Mul:
      case BO_Shl:
      case BO_Xor:
      case BO_Or: return part(left) && part(right);
      case BO_Div:
      case BO_Shr: return part(left);
      // A ring buffer indexed by a data-dependent count may overwrite itself, and so may a hash table.
      case BO_Rem: return (shares(right, capacity) && !is_data(left)) || part(left);
      case BO_And:
        return ((shares(right, capacity) || shares(left, capacity)) && !is_data(binary)) ||
               (part(left) && !is_constant(left)) || (part(right) && !is_constant(right));
      default: return false;
    }
  }
  if (auto* choice = llvm::dyn_cast<ConditionalOperator>(index))
    return part(choice->getTrueExpr()) && part(choice->getFalseExpr());
  if (auto* call = llvm::dyn_cast<CallExpr>(index)) {
    auto* callee = call->getDirectCallee();
    const bool least = callee && callee->getIdentifier() && callee->getName().contains("min");
    if (least &&
        std::any_of(call->arg_begin(), call->arg_end(), [&](auto* argument) { return shares(argument, capacity); }))
      return true;
    return callee && is_bounded(callee, capacity);
  }
  if (auto* reference = llvm::dyn_cast<DeclRefExpr>(index);
      reference && llvm::isa<VarDecl>(reference->getDecl()) && !mentions_thread(reference))
    return is_bounded(llvm::cast<ValueDecl>(reference->getDecl()->getCanonicalDecl()), capacity);
  if (!mentions_thread(index) || llvm::isa<ArraySubscriptExpr>(index)) return false;
  return capacity.by_threads = true;
}

bool Capacities::is_bounded(const ValueDecl* variable, Capacity& capacity) {
  // A variable that depends on itself, as in `i = i + 1`, counts as bounded here: its other values decide.
  if (auto [known, fresh] = judged_.try_emplace(variable, true); !fresh) return known->second;
  bool bounded = !changed_.contains(variable);
  if (auto loops = counters_.find(variable); bounded && loops != counters_.end()) {
    bounded = !assigned_.contains(variable) && std::all_of(loops->second.begin(), loops->second.end(), [&](auto* loop) {
      return loop->getCond() && is_limited(loop, variable, loop->getCond(), capacity);
    });
  } else if (bounded) {
    auto& given = uses_.given_to(variable);
    bounded = !given.empty() && std::all_of(given.begin(), given.end(), [&](auto* text) {
      auto* value = llvm::dyn_cast<Expr>(text);
      return value && is_bounded(value, false, capacity);
    });
  }
  return judged_[variable] = bounded;
}

/// True for loops up to the extent, `k < EXTENT`, or down from it: `for (int h = EXTENT / 2; h > 0; h /= 2)`.
bool Capacities::is_limited(const ForStmt* loop, const ValueDecl* counter, const Expr* condition, Capacity& capacity) {
  auto* comparison = llvm::dyn_cast<BinaryOperator>(condition->IgnoreParenImpCasts());
  if (!comparison) return false;
  if (comparison->getOpcode() == BO_LAnd)
    return is_limited(loop, counter, comparison->getLHS(), capacity) ||
           is_limited(loop, counter, comparison->getRHS(), capacity);
  const bool reversed = variable_in(comparison->getRHS()) == counter;
  if (!comparison->isComparisonOp() || (!reversed && variable_in(comparison->getLHS()) != counter)) return false;
  const Expr* limit = reversed ? comparison->getLHS() : comparison->getRHS();
  const auto kind = reversed ? BinaryOperator::reverseComparisonOp(comparison->getOpcode()) : comparison->getOpcode();
  if (kind == BO_LT || kind == BO_LE)
    return shares(limit, capacity) || (!is_constant(limit) && is_bounded(limit, false, capacity));
  auto& given = uses_.given_to(counter);
  return std::any_of(given.begin(), given.end(), [&](auto* text) {
    auto* value = llvm::dyn_cast<Expr>(text);
    return value && (shares(value, capacity) || (!is_constant(value) && is_bounded(value, false, capacity)));
  });
}

}  // namespace kernelift::extractor
