// See index_conditions.h.
#include "tuner/source/rules/stencils/index_conditions.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>

#include "tuner/source/rules/threads/block_index.h"

namespace kernelift::tuner {
namespace {

void add_conditions(const clang::Expr* condition, bool negated, std::vector<HeldCondition>& held) {
  condition = condition->IgnoreParenImpCasts();
  auto* unary = llvm::dyn_cast<clang::UnaryOperator>(condition);
  if (unary && unary->getOpcode() == clang::UO_LNot) return add_conditions(unary->getSubExpr(), !negated, held);
  auto* binary = llvm::dyn_cast<clang::BinaryOperator>(condition);
  if (binary && binary->getOpcode() == (negated ? clang::BO_LOr : clang::BO_LAnd)) {
    add_conditions(binary->getLHS(), negated, held);
    return add_conditions(binary->getRHS(), negated, held);
  }
  held.push_back({condition, negated});
}

/// `return;` or `continue;`, perhaps in braces.
bool only_leaves(const clang::Stmt* statement) {
  if (auto* block = llvm::dyn_cast<clang::CompoundStmt>(statement); block && block->size() == 1)
    statement = block->body_front();
  return llvm::isa<clang::ReturnStmt, clang::ContinueStmt>(statement);
}

/// What follows the statement may not be executed.
bool may_leave(const clang::Stmt* statement, bool in_loop = false) {
  if (llvm::isa<clang::ReturnStmt, clang::GotoStmt, clang::CXXThrowExpr>(statement)) return true;
  if (llvm::isa<clang::LambdaExpr>(statement)) return false;
  if (!in_loop && llvm::isa<clang::BreakStmt, clang::ContinueStmt>(statement)) return true;
  const bool loop = llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt>(statement);
  return std::ranges::any_of(statement->children(),
                             [&](auto* child) { return child && may_leave(child, in_loop || loop); });
}

bool is_plain(const clang::IfStmt* branch) { return !branch->hasVarStorage() && !branch->getInit(); }

}  // namespace

Surroundings Surroundings::of(const KernelSource& source, const clang::Stmt* statement) {
  Surroundings found;
  const clang::Stmt* below = statement;
  for (auto* up = source.parent(statement); up; below = up, up = source.parent(up)) {
    if (auto* branch = llvm::dyn_cast<clang::IfStmt>(up)) {
      if (below == branch->getCond()) continue;
      add_conditions(branch->getCond(), below != branch->getThen(), found.conditions);
      found.complete &= is_plain(branch);
    } else if (auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(up)) {
      if (below != choice->getCond())
        add_conditions(choice->getCond(), below == choice->getFalseExpr(), found.conditions);
    } else if (auto* binary = llvm::dyn_cast<clang::BinaryOperator>(up); binary && binary->isLogicalOp()) {
      if (below == binary->getRHS())
        add_conditions(binary->getLHS(), binary->getOpcode() == clang::BO_LOr, found.conditions);
    } else if (auto* loop = llvm::dyn_cast<clang::ForStmt>(up)) {
      found.loops.push_back(loop);
      found.complete &= below == loop->getBody();
    } else if (auto* block = llvm::dyn_cast<clang::CompoundStmt>(up)) {
      for (auto* earlier : block->body()) {
        if (earlier == below) break;
        auto* branch = llvm::dyn_cast<clang::IfStmt>(earlier);
        if (branch && !branch->getElse() && is_plain(branch) && only_leaves(branch->getThen()))
          add_conditions(branch->getCond(), true, found.conditions);
        else found.complete &= !may_leave(earlier);
      }
    } else if (!llvm::isa<clang::Expr, clang::DeclStmt, clang::ReturnStmt>(up) ||
               llvm::isa<clang::LambdaExpr, clang::StmtExpr>(up)) {
      found.complete = false;
    }
  }
  return found;
}

std::string IndexBound::text(int64_t more) const {
  const int64_t sum = shift + more;
  if (limit.empty()) return std::to_string(sum);
  return sum == 0 ? limit : limit + (sum > 0 ? " + " : " - ") + std::to_string(sum > 0 ? sum : -sum);
}

bool ConditionReader::is_uniform(const clang::Expr* value, int depth) const {
  if (depth == 0 || !is_invariant(value, {})) return false;
  bool same = true;
  walk(value, [&](const clang::Stmt* inner) {
    if (auto builtin = builtin_of(inner)) return same &= builtin->first != "threadIdx" || builtin->second == 'z', false;
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner);
    auto* variable = reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
    if (!variable) return same;
    if (sums_.changes(variable) || std::ranges::find(indices_, variable) != indices_.end() ||
        std::ranges::find(counters_, variable) != counters_.end())
      return same = false;
    if (llvm::isa<clang::ParmVarDecl>(variable) || !variable->hasLocalStorage()) return same;
    // A variable of the kernel has to be declared by then, in its outermost block.
    auto place = source_.offset(variable->getLocation());
    const bool declared = place && *place < above_ &&
                          std::ranges::any_of(
                              body_->body(),
                              [&](auto* statement) {
                                auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement);
                                return declaration && std::find(declaration->decl_begin(), declaration->decl_end(),
                                                                variable) != declaration->decl_end();
                              });
    return same &= declared && variable->getInit() && is_uniform(variable->getInit(), depth - 1);
  });
  return same;
}

std::optional<int64_t> ConditionReader::number(const IndexSum& sum, IndexBound::Counters* counters) const {
  int64_t constant = 0;
  for (auto& [factors, times] : sum.products()) {
    if (factors.empty()) {
      constant = times;
      continue;
    }
    auto counter = std::ranges::find_if(counters_, [&](auto* one) { return IndexSums::name(one) == factors.front(); });
    if (!counters || factors.size() != 1 || counter == counters_.end()) return std::nullopt;
    (*counters)[factors.front()] = times;
  }
  return constant;
}

/// The index, with counters, that a side of a comparison is; its constant is the shift.
std::optional<IndexBound> ConditionReader::form(const clang::Expr* side) const {
  auto sum = sums_.of(side);
  if (!sum) return std::nullopt;
  for (int axis = 0; axis < static_cast<int>(indices_.size()); ++axis) {
    auto* index = indices_[static_cast<size_t>(axis)];
    auto factor = index ? sum->coefficient(IndexSums::name(index)) : std::nullopt;
    if (!factor || *factor != IndexSum(1)) continue;
    IndexBound bound{.axis = axis};
    auto rest = number(sum->plus(IndexSum::variable(IndexSums::name(index)), -1), &bound.counters);
    // What is less than 0 is a large number where it is unsigned.
    const bool wraps = !side->getType()->isSignedIntegerType();
    if (!rest || (wraps && (*rest < 0 || !bound.counters.empty()))) return std::nullopt;
    bound.shift = *rest;
    return bound;
  }
  return std::nullopt;
}

/// Sets the limit, and adds its constant to the shift.
bool ConditionReader::limit(const clang::Expr* side, IndexBound& bound) const {
  const auto* value = side->IgnoreParenImpCasts();
  if (value->getType()->isDependentType() || !value->getType()->isIntegerType() || !is_uniform(value)) return false;
  auto literal = [&](const clang::Expr* part, int64_t sign) {
    clang::Expr::EvalResult number;
    if (!llvm::isa<clang::IntegerLiteral>(part->IgnoreParenImpCasts()) || part->getExprLoc().isMacroID() ||
        !part->EvaluateAsInt(number, source_.context()))
      return false;
    bound.shift += sign * number.Val.getInt().getExtValue();
    return true;
  };
  if (literal(value, 1)) return true;
  for (;;) {
    auto* binary = llvm::dyn_cast<clang::BinaryOperator>(value);
    if (!binary || !binary->isAdditiveOp() || !literal(binary->getRHS(), binary->getOpcode() == clang::BO_Add ? 1 : -1))
      break;
    value = binary->getLHS()->IgnoreParenImpCasts();
  }
  bound.limit = source_.spelled(value);
  if (bound.limit.empty()) return false;
  if (!value->getType()->isSignedIntegerType())
    bound.limit =
        (source_.context().getTypeSize(value->getType()) > 32 ? "static_cast<long long>(" : "static_cast<int>(") +
        bound.limit + ")";
  else if (llvm::isa<clang::BinaryOperator, clang::ConditionalOperator>(value)) bound.limit = "(" + bound.limit + ")";
  return true;
}

std::optional<IndexBound> ConditionReader::bound(const HeldCondition& held) const {
  auto* comparison = llvm::dyn_cast<clang::BinaryOperator>(held.condition);
  if (!comparison || !comparison->isComparisonOp() || comparison->getOpcode() == clang::BO_Cmp) return std::nullopt;
  auto operation =
      held.negated ? clang::BinaryOperator::negateComparisonOp(comparison->getOpcode()) : comparison->getOpcode();
  const clang::Expr* other = comparison->getRHS();
  auto found = form(comparison->getLHS());
  if (!found) {
    found = form(other), other = comparison->getLHS();
    if (operation != clang::BO_EQ && operation != clang::BO_NE)
      operation = clang::BinaryOperator::reverseComparisonOp(operation);
  }
  if (!found) return std::nullopt;
  const int64_t constant = found->shift;
  found->shift = 0;
  if (!limit(other, *found)) return std::nullopt;
  // An index is never negative: `i != 0` is `i > 0`.
  if (operation == clang::BO_NE && found->limit.empty() && found->shift == 0 && constant == 0 &&
      found->counters.empty())
    operation = clang::BO_GT;
  if (operation == clang::BO_EQ || operation == clang::BO_NE) return std::nullopt;
  found->lower = operation == clang::BO_GT || operation == clang::BO_GE;
  found->shift += (operation == clang::BO_GT || operation == clang::BO_LE) - constant;
  return found;
}

std::string ConditionReader::uniform(const HeldCondition& held) const {
  return is_uniform(held.condition) ? condition_text(source_, held.condition, held.negated) : "";
}

}  // namespace kernelift::tuner
