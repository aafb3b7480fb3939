// See axis_dependence.h.
#include "tuner/source/rules/threads/axis_dependence.h"

#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>

namespace kernelift::tuner {
namespace {

bool is_never_negative(const clang::Expr* expression) {
  expression = expression->IgnoreParenImpCasts();
  return expression->getType()->isUnsignedIntegerType() || llvm::isa<clang::IntegerLiteral>(expression);
}

}  // namespace

AxisDependence::AxisDependence(const KernelSource& source, std::vector<JamAxis> axes, bool shared_is_common)
    : source_(source), axes_(std::move(axes)), shared_is_common_(shared_is_common) {
  for (size_t axis = 0; axis < axes_.size(); ++axis)
    if (axes_[axis].index) depends_[axes_[axis].index] = 1U << axis;
}

AxisDependence::Axes AxisDependence::axes_of(const clang::Stmt* statement) const {
  Axes axes = 0;
  auto add = [&](const clang::VarDecl* variable) {
    auto found = depends_.find(variable);
    if (found != depends_.end()) axes |= found->second;
  };
  walk(statement, [&](const clang::Stmt* inner) {
    if (llvm::isa<clang::PseudoObjectExpr>(inner)) {
      std::string text = squeezed(source_.spelled(inner));
      for (size_t axis = 0; axis < axes_.size(); ++axis)
        if (!text.empty() && axes_[axis].block == text) axes |= 1U << axis;
    } else if (auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner)) {
      if (auto* variable = llvm::dyn_cast<clang::VarDecl>(reference->getDecl())) add(variable);
    } else if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(inner)) {
      for (auto* declared : declaration->decls())
        if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared)) add(variable);
    }
    return true;
  });
  return axes;
}

AxisDependence::Axes AxisDependence::axes_of_header(const clang::ForStmt* loop) const {
  Axes header = 0;
  for (auto* part : {loop->getInit(), static_cast<const clang::Stmt*>(loop->getCond()),
                     static_cast<const clang::Stmt*>(loop->getInc())})
    if (part) header |= axes_of(part);
  return header;
}

AxisDependence::Axes AxisDependence::bounds(const clang::Expr* condition, bool leaves) const {
  auto* binary = llvm::dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
  if (!binary) return 0;
  auto less = leaves ? std::set{clang::BO_GE, clang::BO_GT} : std::set{clang::BO_LT, clang::BO_LE};
  auto more = leaves ? std::set{clang::BO_LE, clang::BO_LT} : std::set{clang::BO_GT, clang::BO_GE};
  auto alone = [&](const clang::Expr* compared, const clang::Expr* limit) -> Axes {
    // The index, possibly plus or minus an invariant. `y * width + x < size` keeps neither x nor y in bounds, and
    // `n - x < m` is true far out of bounds.
    const clang::Expr *index = compared->IgnoreParenImpCasts(), *by = nullptr;
    auto* sum = llvm::dyn_cast<clang::BinaryOperator>(index);
    if (sum && sum->isAdditiveOp() && !axes_of(sum->getRHS())) index = sum->getLHS(), by = sum->getRHS();
    else if (sum && sum->getOpcode() == clang::BO_Add && !axes_of(sum->getLHS()))
      index = sum->getRHS(), by = sum->getLHS();
    // An unsigned `i - first < count` is false below `first`, too, and true behind it.
    bool signless = compared->getType()->isUnsignedIntegerType();
    if (by && signless && (sum->getOpcode() == clang::BO_Sub || !is_never_negative(by))) return 0;
    auto* variable = named_variable(index);
    bool is_index =
        std::any_of(axes_.begin(), axes_.end(), [&](auto& axis) { return variable && axis.index == variable; });
    return is_index && axes_of(limit) == 0 ? axes_of(index) : 0;
  };
  if (less.contains(binary->getOpcode())) return alone(binary->getLHS(), binary->getRHS());
  if (more.contains(binary->getOpcode())) return alone(binary->getRHS(), binary->getLHS());
  return 0;
}

void AxisDependence::propagate(const std::vector<const clang::Stmt*>& statements,
                               const std::set<const clang::IfStmt*>& guards) {
  // A variable depends on whatever its sources depend on: repeated until nothing changes.
  for (std::map<const clang::VarDecl*, Axes> before{{nullptr, 0}}; before != depends_;) {
    before = depends_;
    for (auto* statement : statements) propagate(statement, 0, guards);
  }
}

/// Variables that a statement changes depend on everything that the statement mentions, and on the enclosing conditions
/// (`outer`).
void AxisDependence::propagate(const clang::Stmt* statement, Axes outer, const std::set<const clang::IfStmt*>& guards) {
  if (!statement) return;
  auto each = [&](Axes more) {
    for (auto* child : statement->children()) propagate(child, outer | more, guards);
  };
  if (llvm::isa<clang::CompoundStmt, clang::AttributedStmt>(statement)) return each(0);
  // Behind a guard all neighbours are in bounds, or this text does not run.
  if (auto* branch = llvm::dyn_cast<clang::IfStmt>(statement))
    return each(guards.contains(branch) ? 0 : axes_of(branch->getCond()));
  if (auto* loop = llvm::dyn_cast<clang::ForStmt>(statement)) return each(axes_of_header(loop));
  if (auto* loop = llvm::dyn_cast<clang::WhileStmt>(statement)) return each(axes_of(loop->getCond()));
  if (auto* loop = llvm::dyn_cast<clang::DoStmt>(statement)) return each(axes_of(loop->getCond()));
  Axes axes = outer | axes_of(statement);
  for (auto* variable : changed_within(statement))
    if (axes && !(shared_is_common_ && variable->hasAttr<clang::CUDASharedAttr>())) depends_[variable] |= axes;
}

bool waits_by_thread(const KernelSource& source, const clang::CompoundStmt* body, bool (*waits)(const clang::Stmt*)) {
  AxisDependence threads(
      source, {{2, nullptr, "threadIdx.x", "x"}, {2, nullptr, "threadIdx.y", "y"}, {2, nullptr, "threadIdx.z", "z"}});
  threads.propagate(std::vector<const clang::Stmt*>(body->body_begin(), body->body_end()), {});
  bool found = false;
  walk(body, [&](const clang::Stmt* statement) {
    const clang::Stmt* condition = nullptr;
    if (auto* branch = llvm::dyn_cast<clang::IfStmt>(statement)) condition = branch->getCond();
    else if (auto* choice = llvm::dyn_cast<clang::SwitchStmt>(statement)) condition = choice->getCond();
    else if (auto* loop = llvm::dyn_cast<clang::ForStmt>(statement)) condition = loop->getCond();
    else if (auto* loop = llvm::dyn_cast<clang::WhileStmt>(statement)) condition = loop->getCond();
    else if (auto* loop = llvm::dyn_cast<clang::DoStmt>(statement)) condition = loop->getCond();
    if (!condition || threads.axes_of(condition) == 0) return !found;
    // A jump may skip everything in its loop.
    const clang::Stmt* whole = statement;
    bool leaves = false;
    walk(statement, [&](const clang::Stmt* inner) {
      leaves |= llvm::isa<clang::BreakStmt, clang::ContinueStmt>(inner);
      return !leaves;
    });
    for (auto* up = source.parent(statement); leaves && up && up != body; up = source.parent(up))
      if (llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt>(up)) whole = up;
    found |= waits(whole);
    return !found;
  });
  return found;
}

bool rests_on_ended_lanes(const KernelSource& source, const clang::CompoundStmt* body, const RuleContext& facts) {
  constexpr unsigned kWarp = 32;
  const bool parted = std::ranges::any_of(facts.geometries, [](auto& one) { return one.block.x % kWarp != 0; });
  return parted && waits_by_thread(source, body, has_barrier);
}

}  // namespace kernelift::tuner
