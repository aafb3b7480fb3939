// loop_to_grid: a kernel whose threads walk through a loop of independent iterations has few threads and long ones. The
// iterations become blocks along an axis that the kernel does not use:
//   for (int j = i + 1; j < n; j++) { … c[i * n + j] = …; }
// becomes, with K times as many blocks along y,
//   for (int j = i + 1 + blockIdx.y; j < n; j += gridDim.y) { … }
// in any number of blocks, so that no launch needs the loop's length, and so that blocks get equal parts of a loop over
// a triangle. The loop of a block's threads, `for (j = threadIdx.x; j < n; j += blockDim.x)`, becomes one of the
// grid's. What the kernel stores outside of the loop is stored by the first of these blocks alone.
#include <clang/AST/Decl.h>

#include <algorithm>

#include "tuner/source/rules/threads/block_index.h"
#include "tuner/source/rules/threads/independent_loop.h"

namespace kernelift::tuner {
namespace {

/// The edits by which blocks along the axis share the loop; nullopt where a macro spells its header.
std::optional<std::vector<TextEdit>> edits_for(const KernelSource& source, const IndependentLoop& found,
                                               const std::string& axis) {
  auto edits = share_iterations(source, found.loop, found.counted, "blockIdx." + axis, "gridDim." + axis);
  if (!edits) return std::nullopt;
  for (auto* statement : found.stores_beside) {
    const size_t begin = source.span(statement)->begin;
    edits->push_back({begin, begin, "if (blockIdx." + axis + " == 0) "});
  }
  return edits;
}

std::vector<Opportunity> find_loop_to_grid(const KernelSource& source, const RuleContext& facts,
                                           const Bindings& values) {
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel || facts.geometries.empty() || !has_separate_threads(source, kernel)) return {};
  const int64_t blocks = values.at("blocks");
  auto axis = idle_axis(source, facts, kernel->getBody());
  if (!axis || std::ranges::any_of(facts.geometries, [&](auto& geometry) {
        return geometry.grid.count() * static_cast<uint64_t>(blocks) > kMostBlocksShared;
      }))
    return {};
  std::vector<Opportunity> found;
  for (auto* loop : loops_in(kernel)) {
    auto independent = IndependentLoop::of(source, facts, loop, kernel->getBody());
    auto edits = independent ? edits_for(source, *independent, kAxisNames[*axis]) : std::nullopt;
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
    find_loop_to_grid,
    {Bound::Latency, Bound::Unknown},
    1,
    true};

}  // namespace kernelift::tuner
