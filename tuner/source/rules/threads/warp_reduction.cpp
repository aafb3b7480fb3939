// warp_reduction: if every thread processes a row of its own, a warp reads 32 rows at a time, and its loads are not
// coalesced. With this rule a group of L lanes processes one row together, each lane every L-th element, and shuffles
// combine the lanes' partial results:
//   for (int j = 0; j < n; j++) sum += a[i * n + j] * x[j];
// becomes, with i counting groups instead of threads and L times as many blocks,
//   auto sum_before = sum;  sum = 0;
//   for (int j = lane; j < n; j += L) sum += a[i * n + j] * x[j];
//   for (int offset = L / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(lanes, sum, offset);
//   sum = sum_before + sum;
// without the first and the last line where the sum is known to begin at zero.
// Loops that write one element per iteration are shared the same way, if no other pointer leads to that array. All
// lanes execute everything else redundantly, and one of them performs the stores. Sums are rounded in another order;
// verification decides whether that matters.
#include <clang/AST/Expr.h>

#include <regex>

#include "core/base/words.h"
#include "core/model/launch/limits.h"
#include "tuner/source/rules/threads/axis_dependence.h"
#include "tuner/source/rules/threads/block_index.h"
#include "tuner/source/rules/threads/lane_sharing.h"

namespace kernelift::tuner {
namespace {

constexpr uint64_t kMostBlocks = (uint64_t{1} << 31) - 1;  ///< Of a grid, along x.

/// The row's index as a replacement of `index`, a spelling of blockIdx.x * blockDim.x + threadIdx.x. It is not computed
/// as a quotient of the global thread index, which would exceed an int for large grids. Empty if `index` has another
/// form.
std::string row_text(std::string index, int64_t lanes, bool interleaved) {
  auto words = [&](const std::string& word) { return whole_words(index, word); };
  auto replace = [&](const std::string& word, const std::string& by) {
    index.replace(words(word)[0], word.size(), by);
  };
  const std::string count = std::to_string(lanes), rows = std::to_string(kWarpSize / lanes);
  // The only other name, apart from casts: blockDim.x, or the macro or constant that the launch uses, too.
  static const std::regex kCast(R"(static_cast<[\w:\s]+>|\([\w:\s]+\)(?=\s*[\w(]))"), kName(R"([A-Za-z_][\w.:]*)");
  const std::string plain = std::regex_replace(index, kCast, " ");
  std::string width;
  for (std::sregex_iterator name(plain.begin(), plain.end(), kName), end; name != end; ++name)
    if (const std::string word = name->str(); word != "blockIdx.x" && word != "threadIdx.x")
      width = width.empty() || width == word ? word : "?";
  if (width.empty() || words(width).size() != 1 || words("threadIdx.x").size() != 1) return {};
  replace(width, "(" + width + " / " + count + ")");
  replace("threadIdx.x",
          interleaved ? "(threadIdx.x / 32 * " + rows + " + threadIdx.x % " + rows + ")" : "threadIdx.x / " + count);
  return index;
}

constexpr uint64_t kReplacingThreads = 4 * kWarpSize;  ///< Of blocks that replace such as are no whole warps.

/// Threads of further rows would do nothing: a guard, or the loop over rows, stands before all that accesses memory.
bool is_bounded(const KernelSource& source, const clang::CompoundStmt* body, const GlobalIndex& index) {
  if (index.loop) return true;
  const AxisDependence bounds(source, {{1, index.variable}});
  for (auto* statement : body->body()) {
    auto* guard = llvm::dyn_cast<clang::IfStmt>(statement);
    if (!guard && (!llvm::isa<clang::DeclStmt>(statement) || accesses_memory({statement}))) return false;
    if (!guard) continue;
    const bool leaves = only_returns(guard->getThen());
    if (guard->getElse() || accesses_memory({guard->getCond()}) || (!leaves && statement != body->body_back()))
      return false;
    for (auto* part : parts_of_guard(guard->getCond(), leaves))
      if (bounds.bounds(part, leaves) != 0) return true;
  }
  return false;
}

std::vector<Opportunity> find_warp_reduction(const KernelSource& source, const RuleContext& facts,
                                             const Bindings& values) {
  auto* kernel = source.kernel(facts.kernel);
  auto* body = kernel ? llvm::dyn_cast<clang::CompoundStmt>(kernel->getBody()) : nullptr;
  if (!body || facts.hip || !kernel->getReturnType()->isVoidType() || has_barrier(body) ||
      source.spelled(body).find("__shared__") != std::string::npos)
    return {};
  int64_t lanes = values.at("lanes");
  bool interleaved = values.at("interleaved") != 0;
  if (interleaved && lanes == kWarpSize) return {};  // A single row has no others to be interleaved with.
  bool whole = facts.whole_warps != false;
  std::vector<int> repeated;  // Axes along which threads repeat each other's work.
  for (int axis : {1, 2})
    if (repeats_along(facts, body, axis)) repeated.push_back(axis);
  uint64_t beside = 1;  // Threads of a block along the other axes.
  for (Geometry geometry : facts.geometries) {
    for (int axis : repeated) along(geometry.block, axis) = 1;
    beside = std::max(beside, uint64_t{geometry.block.y} * geometry.block.z);
    const uint64_t rows = uint64_t{geometry.grid.x} * geometry.block.x;
    whole = whole && geometry.block.x % kWarpSize == 0;
    if (rows * static_cast<uint64_t>(lanes) > kMostBlocks) return {};
  }
  auto index = global_index(source, kernel, 0, true);
  if (!index || index->block_only || facts.geometries.empty()) return {};
  if (!counts_by_block(source, facts, index->value, 0)) return {};
  const uint64_t threads = std::max<uint64_t>(kWarpSize, kReplacingThreads / beside / kWarpSize * kWarpSize);
  if (!whole && threads * beside > kMostThreadsPerBlock) return {};
  if (!whole && (width_of_index(source.spelled(index->value), 0) != "blockDim.x" || !is_bounded(source, body, *index)))
    return {};
  auto declared = source.span(index->statement), init = source.span(index->value);
  auto end = source.statement_end(index->statement);
  if (!declared || !init || !end) return {};
  LaneSharing sharing(source, facts, lanes, interleaved);
  bool after = false;
  for (auto* statement : body->body()) {
    if (after && (changed_within(statement).contains(index->variable) || !sharing.take(statement))) return {};
    if (!after && statement != index->statement && !llvm::isa<clang::DeclStmt>(statement)) return {};
    after |= statement == index->statement;
  }
  if (index->loop && !sharing.take(index->loop->getBody())) return {};
  if (sharing.loops() == 0) return {};
  Opportunity found;
  found.place = std::to_string(sharing.loops()) + (sharing.loops() == 1 ? " loop" : " loops");
  // Lanes are computed from threadIdx.x and rows from the global index, which agree if blocks are whole warps.
  if (!facts.whole_warps && whole) found.premises.push_back(facts.premise(*Expression::parse("blockDim.x % 32 == 0")));
  if (!sharing.unaliased().empty()) found.premises.push_back(facts.no_overlap(sharing.unaliased()));
  if (whole) {
    found.multiply_grid(0, lanes);
  } else {
    const Expression width = Expression::constant(static_cast<int64_t>(threads)),
                     rows = Expression::variable(kGridVariables[0]) * Expression::variable(kBlockVariables[0]);
    found.launch.emplace(kGridVariables[0], ceil_div(rows, width) * Expression::constant(lanes));
    found.launch.emplace(kBlockVariables[0], width);
  }
  for (int axis : repeated) found.launch.emplace(kBlockVariables[axis], Expression::constant(1));
  found.edits = sharing.edits();
  std::string indent = source.indentation(declared->begin);
  std::string row = row_text(source.spelled(index->value), lanes, interleaved), count = std::to_string(lanes),
              rows = std::to_string(kWarpSize / lanes);
  if (row.empty()) return {};
  found.edits.push_back({init->begin, init->end, row});
  std::string lane = "// " + count + " lanes of a warp do the work of one thread: each takes one of " + count +
                     " iterations.\n" + indent + "const int " + sharing.lane() + " = threadIdx.x % " +
                     (interleaved ? "32 / " + rows : count) + ";";
  if (!sharing.group().empty()) lane += "\n" + indent + sharing.group();
  if (index->loop) found.edits.push_back({declared->begin, declared->begin, lane + "\n" + indent});
  else found.edits.push_back({*end, *end, "\n" + indent + lane});
  // The number of lane groups is the original number of threads.
  for (auto& grid : index->grid) found.edits.push_back({grid.begin, grid.end, "(gridDim.x / " + count + ")"});
  return {found};
}

}  // namespace

const Rule kWarpReduction = {"warp_reduction",
                             "let the lanes of a warp process one row together instead of a row each",
                             "CUDA; blocks of whole warps along x, or rows in bounds; loops that compute sums or "
                             "extrema, or write one element per iteration",
                             {{"lanes", {32, 8, 4}}, {"interleaved", {0, 1}}},
                             find_warp_reduction,
                             {Bound::Memory, Bound::Latency},
                             1,
                             true};

}  // namespace kernelift::tuner
