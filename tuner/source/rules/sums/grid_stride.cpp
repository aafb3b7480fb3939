// grid_stride: blocks that do little each cost their start, and a sum that they add to memory costs an atomic operation
// for every thread. Fewer blocks walk over all elements, at a distance of the whole grid:
//   int i = blockIdx.x * blockDim.x + threadIdx.x;
//   if (i < n) atomicAdd(total, x[i]);
// becomes, in a grid of a K-th,
//   float total_part = 0;
//   for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
//     if (i < n) total_part += x[i];
//   }
//   if (blockIdx.x * blockDim.x + threadIdx.x < n) atomicAdd(total, total_part);
// Loads stay coalesced, and any number of blocks does all the work. (block_coarsening gives a block its neighbours.)
#include <clang/AST/Expr.h>

#include <algorithm>

#include "tuner/source/rules/spelled_type.h"
#include "tuner/source/rules/sums/private_sums.h"
#include "tuner/source/rules/threads/block_index.h"

namespace kernelift::tuner {
namespace {

/// What the index has to be less than, by a guard that all work is behind; empty: there is none that can be repeated.
std::string bound_of(const KernelSource& source, const RepeatedPart& part) {
  std::set<const clang::VarDecl*> inside;
  for (auto* statement : part.statements) inside.merge(changed_within(statement));
  auto bound = [&](const clang::IfStmt* guard, bool leaves) -> std::string {
    for (auto* one : parts_of_guard(guard->getCond(), leaves)) {
      auto* comparison = llvm::dyn_cast<clang::BinaryOperator>(one->IgnoreParenImpCasts());
      if (!comparison || !comparison->isRelationalOp()) continue;
      auto how = leaves ? clang::BinaryOperator::negateComparisonOp(comparison->getOpcode()) : comparison->getOpcode();
      const clang::Expr *less = comparison->getLHS(), *more = comparison->getRHS();
      if (how == clang::BO_GT) how = clang::BO_LT, std::swap(less, more);
      if (how != clang::BO_LT || named_variable(less) != part.index.variable || !is_invariant(more, inside)) continue;
      auto* plain = more->IgnoreParenImpCasts();
      const std::string text = source.spelled(plain);
      if (text.empty()) continue;
      return llvm::isa<clang::BinaryOperator>(plain) ? "(" + text + ")" : text;
    }
    return {};
  };
  for (auto* statement : part.statements) {
    if (llvm::isa<clang::DeclStmt>(statement) && !accesses_memory({statement})) continue;
    auto* guard = llvm::dyn_cast<clang::IfStmt>(statement);
    if (!guard || guard->getElse()) return {};
    const bool leaves = only_returns(guard->getThen());
    if (!leaves && statement != part.statements.back()) return {};
    if (auto text = bound(guard, leaves); !text.empty() || !leaves) return text;
  }
  return {};
}

std::vector<Opportunity> find_grid_stride(const KernelSource& source, const RuleContext& facts,
                                          const Bindings& values) {
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel || !kernel->getReturnType()->isVoidType()) return {};
  const int64_t factor = values.at("factor");
  std::vector<Opportunity> found;
  for (int axis = 0; axis < 3; ++axis) {
    if (std::ranges::none_of(facts.geometries, [&](auto& geometry) { return along(geometry.grid, axis) >= factor; }))
      continue;
    auto part = RepeatedPart::of(source, kernel, axis);
    // A variable before the index would have to be in the loop's header, too.
    if (!part || part->statements.front() != part->index.statement ||
        !counts_by_block(source, facts, part->index.value, axis))
      continue;
    const std::string bound = bound_of(source, *part), type = spelled_type(source, part->index.variable),
                      name = part->index.variable->getNameAsString(), value = source.spelled(part->index.value),
                      along_axis = kAxisNames[axis], indent = source.indentation(part->begin);
    auto end = source.statement_end(part->index.statement);
    if (bound.empty() || type.empty() || value.empty() || !end) continue;
    std::set<const clang::VarDecl*> changed;
    for (auto* statement : part->statements) changed.merge(changed_within(statement));
    auto sums = PrivateSums::of(source, part->statements, changed, indent, value + " < " + bound);
    Opportunity opportunity;
    opportunity.place = "blocks along " + along_axis;
    opportunity.divide_grid(axis, factor);
    opportunity.edits = std::move(part->returns);
    opportunity.edits.push_back({part->begin, *end,
                                 sums.before + "for (" + type + " " + name + " = " + value + "; " + name + " < " +
                                     bound + "; " + name + " += gridDim." + along_axis + " * blockDim." + along_axis +
                                     ") {"});
    opportunity.edits.insert(opportunity.edits.end(), sums.edits.begin(), sums.edits.end());
    opportunity.edits.push_back(part->closing(source, sums.after));
    part->indent(source, opportunity.edits);
    found.push_back(std::move(opportunity));
  }
  return found;
}

}  // namespace

const Rule kGridStride = {
    "grid_stride",
    "let fewer blocks walk over all elements, and gather in registers what they add to memory",
    "a global index along the axis that a guard keeps below a bound; no barriers, shared memory or other use of the "
    "block's index",
    {{"factor", {16, 4, 64}}},
    find_grid_stride,
    {Bound::Memory, Bound::Compute},
    0.1};

}  // namespace kernelift::tuner
