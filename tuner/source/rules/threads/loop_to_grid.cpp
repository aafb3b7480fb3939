// loop_to_grid: a kernel whose threads walk through a loop of independent iterations has few threads and long ones. The
// iterations become blocks along an axis that the kernel does not use:
//   for (int j = i + 1; j < n; j++) { … c[i * n + j] = …; }
// becomes, with K times as many blocks along y,
//   for (int j = i + 1 + blockIdx.y; j < n; j += gridDim.y) { … }
// in any number of blocks, so that no launch needs the loop's length, and so that blocks get equal parts of a loop over
// a triangle. The loop of a block's threads, `for (j = threadIdx.x; j < n; j += blockDim.x)`, becomes one of the
// grid's. What the kernel stores outside of the loop is stored by the first of these blocks alone. Whether iterations
// are independent, and whether the rest of the kernel needs what they leave, is asked of the kernel's model for all
// sizes; here only what would obviously be wrong is left.
#include <clang/AST/Expr.h>

#include <algorithm>

#include "tuner/source/rules/threads/block_index.h"
#include "tuner/source/rules/threads/lane_loops.h"

namespace kernelift::tuner {
namespace {

class LoopToGrid {
 public:
  LoopToGrid(const KernelSource& source, const RuleContext& facts, int axis)
      : source_(source), loops_(source, facts), axis_(kAxisNames[axis]) {}

  /// The edits for this loop, which blocks along the axis share; nullopt if they cannot.
  std::optional<std::vector<TextEdit>> edits(const clang::ForStmt* loop, const clang::Stmt* body);

 private:
  bool stores_own_elements(const clang::ForStmt* loop, const clang::VarDecl* counter) const;
  bool store_once(const clang::Stmt* statement, std::vector<TextEdit>& edits);
  bool mentions_stored(const clang::ForStmt* loop) const;

  const KernelSource& source_;
  LaneLoops loops_;
  const std::string axis_;
  std::set<std::string> stored_;  ///< Elements that the first block alone stores, as they are spelled.
};

/// Every store in the loop goes to an element that depends on the counter, at least by its text.
bool LoopToGrid::stores_own_elements(const clang::ForStmt* loop, const clang::VarDecl* counter) const {
  std::set<const clang::VarDecl*> own{counter};
  auto depends = [&](const clang::Stmt* statement) {
    return statement && std::ranges::any_of(variables_in(statement), [&](auto* one) { return own.contains(one); });
  };
  for (size_t before = 0; before != own.size();) {
    before = own.size();
    walk(loop->getBody(), [&](const clang::Stmt* inner) {
      if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(inner))
        for (auto* declared : declaration->decls())
          if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared); variable && depends(variable->getInit()))
            own.insert(variable);
      auto* set = assigned_by(inner);
      if (auto* variable = set ? variable_of(set) : nullptr; variable && depends(inner)) own.insert(variable);
      return true;
    });
  }
  bool good = true;
  walk(loop->getBody(), [&](const clang::Stmt* inner) {
    auto* set = assigned_by(inner);
    if (!set || variable_of(set)) return good;
    return good &= depends(set);
  });
  return good;
}

/// Only the first block along the axis executes a statement that stores.
bool LoopToGrid::store_once(const clang::Stmt* statement, std::vector<TextEdit>& edits) {
  if (!loops_.writes_memory(statement)) return true;
  auto range = source_.span(statement);
  if (!range || !source_.first_on_line(range->begin)) return false;
  bool leaves = false;
  std::set<const clang::VarDecl*> own;
  walk(statement, [&](const clang::Stmt* inner) {
    leaves |= llvm::isa<clang::ReturnStmt, clang::GotoStmt, clang::LabelStmt, clang::AsmStmt>(inner);
    if (auto* target = assigned_by(inner); target && !variable_of(target))
      stored_.insert(squeezed(source_.spelled(target)));
    auto* loop = llvm::dyn_cast<clang::ForStmt>(inner);
    if (auto counted = loop ? CountedLoop::of(loop) : std::nullopt; counted && loops_.is_only_counter(counted->counter))
      own.insert(counted->counter);
    return !leaves;
  });
  if (leaves || llvm::isa<clang::DeclStmt>(statement)) return false;
  // What it computes for the thread's own use would be missing in the other blocks.
  for (auto* variable : changed_within(statement)) {
    auto declared = source_.offset(variable->getLocation());
    const bool within = declared && *declared >= range->begin && *declared < range->end;
    if (variable->hasLocalStorage() && !within && !own.contains(variable)) return false;
  }
  edits.push_back({range->begin, range->begin, "if (blockIdx." + axis_ + " == 0) "});
  return true;
}

/// Other blocks do not wait for what the first one stores.
bool LoopToGrid::mentions_stored(const clang::ForStmt* loop) const {
  bool mentions = false;
  walk(loop, [&](const clang::Stmt* inner) {
    if (llvm::isa<clang::ArraySubscriptExpr>(inner)) mentions |= stored_.contains(squeezed(source_.spelled(inner)));
    return !mentions;
  });
  return mentions;
}

std::optional<std::vector<TextEdit>> LoopToGrid::edits(const clang::ForStmt* loop, const clang::Stmt* body) {
  auto counted = CountedLoop::of(loop, true);
  if (!counted || !loops_.is_parallel(loop, counted->counter) || !loops_.writes_memory(loop->getBody()) ||
      !stores_own_elements(loop, counted->counter))
    return std::nullopt;
  auto header = share_iterations(source_, loop, *counted, "blockIdx." + axis_, "gridDim." + axis_);
  if (!header) return std::nullopt;
  std::vector<TextEdit> edits;
  for (const clang::Stmt *at = loop, *up = source_.parent(at); at != body; at = up, up = source_.parent(up)) {
    if (!up) return std::nullopt;
    if (auto* branch = llvm::dyn_cast<clang::IfStmt>(up)) {
      if (branch->hasVarStorage() || branch->getInit() || loops_.writes_memory(branch->getCond()) ||
          at == branch->getCond())
        return std::nullopt;
      auto* other = branch->getThen() == at ? branch->getElse() : branch->getThen();
      if (other && !store_once(other, edits)) return std::nullopt;
    } else if (auto* block = llvm::dyn_cast<clang::CompoundStmt>(up)) {
      for (auto* beside : block->body())
        if (beside != at && !store_once(beside, edits)) return std::nullopt;
    } else {
      return std::nullopt;  // In another loop, each of whose iterations may need the one before.
    }
  }
  if (mentions_stored(loop)) return std::nullopt;
  edits.insert(edits.end(), header->begin(), header->end());
  return edits;
}

std::vector<Opportunity> find(const KernelSource& source, const RuleContext& facts, const Bindings& values) {
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel || !kernel->getReturnType()->isVoidType() || facts.geometries.empty() || has_barrier(kernel->getBody()) ||
      source.spelled(kernel->getBody()).find("__shared__") != std::string::npos)
    return {};
  const int64_t blocks = values.at("blocks");
  auto axis = idle_axis(source, facts, kernel->getBody());
  if (!axis || std::ranges::any_of(facts.geometries, [&](auto& geometry) {
        return geometry.grid.count() * static_cast<uint64_t>(blocks) > kMostBlocksShared;
      }))
    return {};
  std::vector<Opportunity> found;
  for (auto* loop : loops_in(kernel)) {
    auto edits = LoopToGrid(source, facts, *axis).edits(loop, kernel->getBody());
    if (!edits) continue;
    Opportunity opportunity;
    opportunity.place = source.name(loop) + " along " + kAxisNames[*axis];
    opportunity.multiply_grid(*axis, blocks);
    opportunity.edits = std::move(*edits);
    found.push_back(std::move(opportunity));
  }
  return found;
}

}  // namespace

const Rule kLoopToGrid = {
    "loop_to_grid",
    "let blocks share the iterations of a loop",
    "a loop outside of others that carries no value from one iteration to the next and stores one or more elements in "
    "each; an axis of the grid that the kernel does not use; no barriers or shared memory",
    {{"blocks", {64, 8, 512}}},
    find,
    {Bound::Latency, Bound::Unknown},
    1};

}  // namespace kernelift::tuner
