// shared_tiling: in a product of matrices each element of the operands is read by many threads,
//   float sum = 0;  for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];  c[i * n + j] = sum;
// Here the threads of a block load what they share into shared memory, the operands of some iterations at a time, and
// each thread computes several outputs, so that a loaded value serves several products:
//   float sum[4][4] = {};
//   for (int k_begin = 0; k_begin < n; k_begin += 16) {
//     a_tile[…][…] = …;  b_tile[…][…] = …;  __syncthreads();
//     for (int k = k_begin; k < k_end; ++k) for (u…) for (v…) sum[u][v] += a_tile[…][… + u] * b_tile[…][… + v];
//     __syncthreads();
//   }
//   for (u…) for (v…) if (i < n && j < n) c[i * n + j] = sum[u][v];
// Every output is the sum of the same values in the same order. Where there are too few tiles for a GPU, several
// threads share the iterations of the same outputs (slices, along z of the block), and their sums are added up in the
// end. Threads out of bounds load zeros and store nothing; the last tile ends where the original loop ends. Blocks have
// a new, constant size, and the grid covers at least the original's threads; where no guard keeps an index in bounds,
// it has to cover exactly these.
#include <clang/AST/Decl.h>

#include <algorithm>

#include "core/model/launch/limits.h"
#include "tuner/source/rules/threads/block_index.h"
#include "tuner/source/rules/tiling/tile_text.h"

namespace kernelift::tuner {
namespace {

constexpr int64_t kFewestThreads = 64, kMostThreads = 256;  ///< Of a slice.
constexpr int64_t kMostThreadsOfSlices = 512;
constexpr int64_t kMostOfThread = 8;     ///< Outputs along one side.
constexpr int64_t kRegisterBytes = 256;  ///< Of a thread's accumulators.

/// Shapes whose loads are spread evenly over the threads. A thread's outputs are a square, or 8 x 4, which reads less
/// than 4 x 4 for each product and leaves more threads than 8 x 8.
bool is_useful(const TileShape& shape) {
  const bool square = shape.thread_rows == shape.thread_columns,
             tall = shape.thread_rows == kMostOfThread && shape.thread_columns == kMostOfThread / 2;
  const int64_t threads = shape.threads(), of_slice = threads / shape.slices;
  const bool spread = shape.rows * shape.depth() % threads == 0 && threads % shape.depth() == 0;
  return (square || tall) && shape.rows <= shape.columns && of_slice >= kFewestThreads && of_slice <= kMostThreads &&
         (shape.slices == 1 || threads <= kMostThreadsOfSlices) && shape.columns <= threads && spread;
}

bool fits_registers(const TiledLoop& loop, const TileShape& shape) {
  int64_t bytes = 0;
  for (auto& sum : loop.sums) bytes += shape.thread_rows * shape.thread_columns * sum.bytes;
  return bytes <= kRegisterBytes;
}

/// Slices are for launches that have too few tiles for a GPU.
bool needs_slices(const RuleContext& facts, const TileShape& shape) {
  return std::ranges::any_of(facts.geometries, [&](const Geometry& geometry) {
    Geometry tiles = geometry;
    const int64_t outputs = static_cast<int64_t>(geometry.grid.count() * geometry.block.count());
    tiles.grid = {static_cast<uint32_t>(std::max<int64_t>(outputs / (shape.rows * shape.columns), 1)), 1, 1};
    tiles.block = {static_cast<uint32_t>(shape.threads() / shape.slices), 1, 1};
    return !fills_device(tiles);
  });
}

/// The recorded launches have outputs enough for such a tile.
bool suits_launches(const RuleContext& facts, const TileIndex& index, int64_t side) {
  return std::ranges::all_of(facts.geometries, [&](const Geometry& geometry) {
    const int64_t outputs = static_cast<int64_t>(along(geometry.grid, index.axis)) * along(geometry.block, index.axis);
    return outputs * 2 > side && (index.bounded || outputs % side == 0) &&
           // The grid may not grow where it is limited.
           (index.axis == 0 || along(geometry.block, index.axis) <= side);
  });
}

std::vector<Opportunity> find_shared_tiling(const KernelSource& source, const RuleContext& facts,
                                            const Bindings& values) {
  const TileShape shape{values.at("rows"),           values.at("columns"), values.at("thread_rows"),
                        values.at("thread_columns"), values.at("slices"),  values.at("ahead") != 0};
  auto* kernel = source.kernel(facts.kernel);
  const bool flat = std::ranges::all_of(facts.geometries, [](auto& geometry) { return geometry.block.z == 1; });
  if (!kernel || facts.geometries.empty() || !flat || !is_useful(shape) ||
      (shape.slices > 1 && !needs_slices(facts, shape)))
    return {};
  std::string why_not;
  auto loop = TiledLoop::find(source, facts, kernel, &why_not);
  if (!why_not.empty() && facts.declined) facts.declined(kSharedTiling, why_not);
  if (!loop || !fits_registers(*loop, shape) || !suits_launches(facts, loop->row, shape.rows) ||
      !suits_launches(facts, loop->column, shape.columns))
    return {};
  TileText writer(source, *loop, shape);
  auto text = writer.shared_bytes() <= kOrdinarySharedBytes ? writer.text() : std::nullopt;
  if (!text) return {};
  Opportunity found;
  found.place = source.name(loop->loop);
  found.summary = std::to_string(shape.rows) + " x " + std::to_string(shape.columns) + " outputs a block, " +
                  std::to_string(shape.thread_rows) + " x " + std::to_string(shape.thread_columns) + " a thread, " +
                  std::to_string(shape.depth()) + " iterations at a time" +
                  (shape.slices > 1 ? ", shared by " + std::to_string(shape.slices) + " threads" : "") +
                  (shape.ahead ? ", the next ones loaded meanwhile" : "");
  found.edits.push_back(
      {loop->begin, loop->end, *text + (source.first_on_line(loop->end) ? source.indentation(loop->end) : "")});
  for (auto& [index, side] : {std::pair(loop->row, shape.rows), {loop->column, shape.columns}}) {
    const Expression blocks = Expression::variable(kGridVariables[index.axis]),
                     threads = Expression::variable(kBlockVariables[index.axis]), size = Expression::constant(side);
    found.launch.emplace(kGridVariables[index.axis], ceil_div(blocks * threads, size));
    if (index.bounded) continue;
    const std::string axis(1, "xyz"[index.axis]);
    found.premises.push_back(facts.premise(
        *Expression::parse("gridDim." + axis + " * blockDim." + axis + " % " + std::to_string(side) + " == 0")));
  }
  const int64_t block[] = {shape.threads_x(), shape.threads_y(), shape.slices};
  for (int axis = 0; axis < 3; ++axis) found.launch.emplace(kBlockVariables[axis], Expression::constant(block[axis]));
  if (!loop->apart.empty()) found.premises.push_back(facts.no_overlap(loop->apart));
  return {found};
}

}  // namespace

const Rule kSharedTiling = {
    "shared_tiling",
    "stage what threads share in shared memory, and compute a tile of outputs in each thread's registers",
    "one output per thread of a two-dimensional grid, from a loop with the same iterations for all of them that reads "
    "operands by row and iteration and by column and iteration; no barrier or shared memory, and nothing that the loop "
    "reads is stored to",
    {{"rows", {64, 32, 128}},
     {"columns", {64, 32, 128}},
     {"thread_rows", {4, 8, 2}},
     {"thread_columns", {4, 8, 2}},
     {"slices", {1, 2, 4, 8}},
     {"ahead", {0, 1}}},
    find_shared_tiling,
    {Bound::Compute, Bound::Latency, Bound::Memory},
    1.5};

}  // namespace kernelift::tuner
