// A walk records products, quotients, stepped loops and comparisons; which of them depend on a constant is decided
// afterwards, when all assignments are known.
#include "extractor/scan/chunk_sizes.h"

#include <algorithm>

#include "clang/AST/ExprCXX.h"

namespace kernelift::extractor {
namespace {

using namespace clang;

/// The loop's counter, which is incremented by one or by `step`.
const ValueDecl* counter_of(const ForStmt* loop, const Expr*& step) {
  step = nullptr;
  const Expr* increment = loop->getInc() ? loop->getInc()->IgnoreParenImpCasts() : nullptr;
  if (auto* unary = llvm::dyn_cast_or_null<UnaryOperator>(increment)) return variable_in(unary->getSubExpr());
  auto* binary = llvm::dyn_cast_or_null<BinaryOperator>(increment);
  if (!binary || !binary->isAssignmentOp()) return nullptr;
  step = binary->getRHS();
  return variable_in(binary->getLHS());
}

const Expr* first_of(const ForStmt* loop, const ValueDecl* counter) {
  if (auto* declaration = llvm::dyn_cast_or_null<DeclStmt>(loop->getInit()))
    for (auto* one : declaration->decls())
      if (auto* variable = llvm::dyn_cast<VarDecl>(one); variable && variable->getCanonicalDecl() == counter)
        return variable->getInit();
  auto* set = llvm::dyn_cast_or_null<BinaryOperator>(loop->getInit());
  return set && set->getOpcode() == BO_Assign ? set->getRHS() : nullptr;
}

bool names(const Stmt* text, bool (*builtin)(llvm::StringRef)) {
  if (!text) return false;
  auto* reference = llvm::dyn_cast<DeclRefExpr>(text);
  auto* member = llvm::dyn_cast<MemberExpr>(text);
  auto* declaration = reference ? reference->getDecl() : member ? member->getMemberDecl() : nullptr;
  if (declaration && declaration->getIdentifier() && builtin(declaration->getName())) return true;
  if (auto* hidden = llvm::dyn_cast<OpaqueValueExpr>(text))
    return names(hidden->getSourceExpr(), builtin);  // In `threadIdx.x`.
  return std::any_of(text->child_begin(), text->child_end(), [&](auto* child) { return names(child, builtin); });
}

bool is_thread(llvm::StringRef name) { return name == "threadIdx" || name == "thread_rank" || name == "thread_index"; }
bool is_builtin(llvm::StringRef name) {
  return name == "threadIdx" || name == "blockIdx" || name == "blockDim" || name == "gridDim" || name == "warpSize";
}

void add_variables(const Stmt* text, std::set<const ValueDecl*>& into) {
  if (!text) return;
  if (auto* expression = llvm::dyn_cast<Expr>(text))
    if (auto* variable = variable_in(expression);
        variable && !is_constant(expression) && !is_builtin(variable->getName()))
      into.insert(variable);
  for (auto* child : text->children()) add_variables(child, into);
}

}  // namespace

void ChunkSizes::take(const Closure& closure) {
  for (int index : closure.items)
    if (taken_.insert(index).second)
      for (auto* declaration : items_[index].declarations) TraverseDecl(const_cast<Decl*>(declaration));
}

bool ChunkSizes::VisitFunctionDecl(FunctionDecl* function) {
  if (function->doesThisDeclarationHaveABody() && is_host_only(function)) left_out_.insert(function->getBody());
  return true;
}

bool ChunkSizes::TraverseForStmt(ForStmt* loop) {
  const Expr* step = nullptr;
  auto* counter = counter_of(loop, step);
  if (counter && step) chunked_.push_back({nullptr, step, {loop}});
  all_loops_.push_back(loop);
  loops_.push_back(loop);
  const bool go_on = DynamicRecursiveASTVisitor::TraverseForStmt(loop);
  loops_.pop_back();
  return go_on;
}

void ChunkSizes::note_comparison(const Expr* side) {
  std::set<const Stmt*> condition;
  if (!loops_.empty()) add_all(loops_.back()->getCond(), condition);
  comparisons_.push_back({side, loops_, condition.contains(side) ? loops_.back() : nullptr});
}

bool ChunkSizes::VisitBinaryOperator(BinaryOperator* op) {
  if (op->isComparisonOp()) note_comparison(op->getLHS()), note_comparison(op->getRHS());
  if (!op->getType()->isDependentType() && !op->getType()->isIntegerType()) return true;
  if (op->getOpcode() == BO_Div || op->getOpcode() == BO_DivAssign) quotients_.push_back(op);
  // Products in the index of an array are not chunks of the application's data.
  if (op->getOpcode() != BO_Mul || in_tables_.contains(op)) return true;
  if (!is_constant(op->getLHS())) chunked_.push_back({op->getLHS(), op->getRHS(), loops_});
  if (!is_constant(op->getRHS())) chunked_.push_back({op->getRHS(), op->getLHS(), loops_});
  return true;
}

/// `min(K, m - k)`
bool ChunkSizes::VisitCallExpr(CallExpr* call) {
  auto* callee = call->getDirectCallee();
  if (callee && callee->getIdentifier() && callee->getName().contains("min") && call->getNumArgs() == 2)
    note_comparison(call->getArg(0)), note_comparison(call->getArg(1));
  return true;
}

bool ChunkSizes::VisitArraySubscriptExpr(ArraySubscriptExpr* element) {
  const Expr* base = element->getBase()->IgnoreParenImpCasts();
  if (base->getType()->isArrayType()) add_all(element->getIdx(), in_tables_);
  return true;
}

bool ChunkSizes::depends_on_thread(const Stmt* text, std::set<const ValueDecl*>& seen) const {
  if (!text) return false;
  if (names(text, is_thread)) return true;
  std::set<const ValueDecl*> variables;
  add_variables(text, variables);
  return std::any_of(variables.begin(), variables.end(), [&](auto* variable) {
    if (!seen.insert(variable).second) return false;
    auto& given = uses_.given_to(variable);
    return std::any_of(given.begin(), given.end(), [&](auto* value) { return depends_on_thread(value, seen); });
  });
}

bool ChunkSizes::depends_on_thread(const Stmt* text) const {
  std::set<const ValueDecl*> seen;
  return depends_on_thread(text, seen);
}

bool ChunkSizes::is_length(const Stmt* text, std::set<const ValueDecl*>& seen) const {
  if (names(text, is_builtin) || names(text, is_thread)) return false;
  std::set<const ValueDecl*> variables;
  add_variables(text, variables);
  return std::all_of(variables.begin(), variables.end(), [&](auto* variable) {
    auto& given = uses_.given_to(variable);
    return seen.insert(variable).second && !given.empty() &&
           std::all_of(given.begin(), given.end(), [&](auto* value) { return is_length(value, seen); });
  });
}

bool ChunkSizes::is_bounds_checked(Place constant, const Chunked& chunked) const {
  const Expr* step = nullptr;
  std::set<const ValueDecl*> numbers;
  if (chunked.number) add_variables(chunked.number, numbers);
  else numbers.insert(counter_of(chunked.loops.back(), step));
  const bool threads_own = chunked.number && depends_on_thread(chunked.number);
  return std::any_of(comparisons_.begin(), comparisons_.end(), [&](auto& comparison) {
    auto leading = uses_.leading_to(comparison.side);
    auto has = [&](const ValueDecl* variable) { return leading.contains(variable->getLocation()); };
    // The loop's own condition tests only a chunk's first element.
    if (!chunked.number && comparison.head == chunked.loops.back()) return false;
    if (!std::all_of(numbers.begin(), numbers.end(), has) || (chunked.number && !leading.contains(constant)))
      return false;
    // Beside the chunk's number, the tested expression contains the element's number within the chunk: a thread index,
    // or a counter that runs up to the constant.
    if (!threads_own && depends_on_thread(comparison.side)) return true;
    return std::any_of(all_loops_.begin(), all_loops_.end(), [&](auto* loop) {
      const Expr* by = nullptr;
      auto* counter = counter_of(loop, by);
      return counter && !numbers.contains(counter) && loop->getCond() && leads(constant, loop->getCond()) &&
             has(counter);
    });
  });
}

bool ChunkSizes::divides_only(SourceLocation constant) const {
  for (auto* quotient : quotients_) {
    if (!leads(constant, quotient->getRHS()) || is_constant(quotient->getLHS()) ||
        depends_on_thread(quotient->getLHS()))
      continue;
    if (!leads(constant, quotient->getLHS())) return true;  // In (n + K - 1) / K the constant is on both sides.
  }
  return std::any_of(chunked_.begin(), chunked_.end(), [&](auto& chunked) {
    if (!leads(constant, chunked.chunk) || (chunked.number && leads(constant, chunked.number))) return false;
    const Expr* step = nullptr;
    if (std::set<const ValueDecl*> seen; chunked.number && !is_length(chunked.chunk, seen)) return false;
    // A strided loop that starts at the thread's index visits every element separately.
    if (!chunked.number && depends_on_thread(first_of(chunked.loops.back(), counter_of(chunked.loops.back(), step))))
      return false;
    return !is_bounds_checked(constant, chunked);
  });
}

}  // namespace kernelift::extractor
