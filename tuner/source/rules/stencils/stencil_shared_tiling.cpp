// stencil_shared_tiling: neighbouring threads of a stencil or convolution read the same elements,
//   int j = blockIdx.x * blockDim.x + threadIdx.x, i = …;
//   if (i > 0 && …) out[i * n + j] = a[(i - 1) * n + j] + a[i * n + j - 1] + …;
// The threads of a block load what they share, with a halo around it, into shared memory, and read it there:
//   __shared__ float a_tile[10][34];
//   for (int row = threadIdx.y; row < 10; row += 8)
//     for (int column = threadIdx.x; column < 34; column += 32) {
//       const int i = …, j = …;
//       if (…) a_tile[row][column] = a[i * n + j];
//     }
//   __syncthreads();
//   if (i > 0 && …) out[i * n + j] = a_tile[threadIdx.y][threadIdx.x + 1] + a_tile[threadIdx.y + 1][threadIdx.x] + …;
// The tiles are filled in front of the first guard, where all threads of a block come, also those that have no output.
// In a loop over the planes of a volume they are filled anew in each iteration (marching_loop.h).
// An element is loaded if a guard of the original lets some thread read it: for intervals of threads [low, high) that
// read at distances from `first` to `last`, if it is at least low + first and less than high + last, and low < high.
#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>

#include <algorithm>

#include "core/model/launch/limits.h"
#include "tuner/source/rules/spelled_type.h"
#include "tuner/source/rules/stencils/halo_tile.h"
#include "tuner/source/rules/stencils/register_window.h"

namespace kernelift::tuner {
namespace {

constexpr int64_t kFewestOfTile = 64;
constexpr size_t kMostChained = 2;  ///< Conditions in a row that are joined by ||.

class TileFiller {
 public:
  /// `sides`: of the new block, along x and y.
  TileFiller(const KernelSource& source, const HaloKernel& kernel, int64_t columns, int64_t rows)
      : source_(source),
        kernel_(kernel),
        sides_{columns, rows},
        places_{source.fresh_name("column"), source.fresh_name("row")} {
    for (auto& tile : kernel.tiles()) {
      const std::string stem = tile.array->getNameAsString() + "_tile";
      std::string name = source.fresh_name(stem);
      for (int number = 2; std::ranges::find(names_, name) != names_.end(); ++number)
        name = source.fresh_name(stem + std::to_string(number));
      names_.push_back(name);
    }
  }

  int64_t shared_bytes() const {
    int64_t bytes = 0;
    for (auto& tile : kernel_.tiles()) bytes += extent(tile, 0) * extent(tile, 1) * tile.bytes;
    return bytes;
  }
  /// The lines that declare the tiles; those that fill them.
  std::string declarations(const std::string& indent) const;
  std::string text(const std::string& indent) const;
  /// Reads of tiles in place of those of arrays.
  std::vector<TextEdit> uses() const;

 private:
  bool flat() const { return !kernel_.index(1); }
  int64_t extent(const HaloTile& tile, int axis) const {
    return sides_[axis] + tile.hull.high[axis] - tile.hull.low[axis];
  }
  static std::string plus(int64_t number) {
    return number == 0 ? "" : (number > 0 ? " + " : " - ") + std::to_string(std::abs(number));
  }
  bool is_int(int axis) const;
  std::string coordinate(int axis) const;
  std::string condition(const HaloTile& tile, const HaloReads& reads, const HaloBox& box) const;

  const KernelSource& source_;
  const HaloKernel& kernel_;
  const int64_t sides_[2];
  const std::string places_[2];
  std::vector<std::string> names_;
};

bool TileFiller::is_int(int axis) const {
  auto* index = kernel_.index(axis)->variable;
  return source_.context().hasSameUnqualifiedType(index->getType(), source_.context().IntTy) &&
         spelled_type(source_, index) == "int";
}

/// The name of an element's index, which may be negative where nothing is read.
std::string TileFiller::coordinate(int axis) const {
  const std::string name = kernel_.index(axis)->variable->getNameAsString();
  return is_int(axis) ? name : source_.fresh_name(name + "_at");
}

/// When a thread at these distances reads the element.
std::string TileFiller::condition(const HaloTile& tile, const HaloReads& reads, const HaloBox& box) const {
  std::vector<std::string> all(reads.agreed.begin(), reads.agreed.end());
  auto add = [&](const std::string& part) {
    if (std::ranges::find(all, part) == all.end()) all.push_back(part);
  };
  for (int axis : {1, 0}) {
    if (axis == 1 && flat()) continue;
    const std::string name = coordinate(axis);
    // By their limits: of several bounds with the same one, the narrowest.
    std::map<std::string, int64_t> lower, upper, first, last;
    auto narrow = [](std::map<std::string, int64_t>& bounds, const IndexBound& bound, int64_t more) {
      const int64_t shift = bound.shift + more;
      auto [at, added] = bounds.emplace(bound.limit, shift);
      if (!added) at->second = bound.lower ? std::max(at->second, shift) : std::min(at->second, shift);
    };
    for (auto& bound : reads.threads) {
      if (bound.axis != axis) continue;
      narrow(bound.lower ? lower : upper, bound, 0);
      narrow(bound.lower ? first : last, bound, bound.lower ? box.low[axis] : box.high[axis]);
    }
    if (lower.empty()) {
      lower.emplace("", 0);
      if (box.low[axis] != tile.hull.low[axis]) first.emplace("", box.low[axis]);
    }
    for (auto& bound : reads.elements)
      if (bound.axis == axis) narrow(bound.lower ? first : last, bound, 0);
    auto text = [](const std::pair<const std::string, int64_t>& bound) {
      return IndexBound{0, false, bound.first, bound.second, {}}.text();
    };
    for (auto& limit : first) add(name + " >= " + text(limit));
    for (auto& limit : last) add(name + " < " + text(limit));
    // Without an upper bound, all threads of the block read.
    if (upper.empty() && box.high[axis] != tile.hull.high[axis])
      add(places_[axis] + " < " + std::to_string(sides_[axis] + box.high[axis] - tile.hull.low[axis]));
    // A single thread between the bounds does not read the element in the gap.
    if (box.gap == axis && !upper.empty())
      add("(" + text({lower.begin()->first, lower.begin()->second + 1}) + " < " + text(*upper.begin()) + " || " + name +
          " != " + text({lower.begin()->first, lower.begin()->second + box.low[axis] + 1}) + ")");
    // There are threads between the bounds. An element between them shows it.
    for (auto& low : lower)
      for (auto& high : upper) {
        auto from = first.find(low.first), to = last.find(high.first);
        if (from == first.end() || from->second < low.second || to == last.end() || to->second > high.second)
          add(text(low) + " < " + text(high));
      }
  }
  std::string text;
  for (auto& part : all) text += (text.empty() ? "" : " && ") + part;
  return text;
}

std::string TileFiller::declarations(const std::string& indent) const {
  std::string out;
  for (size_t number = 0; number < names_.size(); ++number) {
    auto& tile = kernel_.tiles()[number];
    std::string size;
    for (int axis : {1, 0})
      if (axis == 0 || !flat()) size += "[" + std::to_string(extent(tile, axis)) + "]";
    out += indent + "// What the block's threads read of " + tile.array->getNameAsString() +
           (kernel_.march() ? ", plane by plane" : "") + ", in shared memory.\n" + indent + "__shared__ " + tile.type +
           " " + names_[number] + size + ";\n";
    for (auto& equal : tile.numbers)
      out += indent + "static_assert(" + equal + ", \"the tile is as large as the loops reach\");\n";
  }
  return out;
}

std::string TileFiller::text(const std::string& indent) const {
  std::string out;
  const std::string step = source_.step();
  for (size_t number = 0; number < names_.size(); ++number) {
    auto& tile = kernel_.tiles()[number];
    std::string at = indent, place;
    for (int axis : {1, 0})
      if (axis == 0 || !flat()) place += "[" + places_[axis] + "]";
    for (int axis : {1, 0}) {
      if (axis == 1 && flat()) continue;
      const std::string& name = places_[axis];
      out += at + "for (int " + name + " = threadIdx." + kAxisNames[axis] + "; " + name + " < " +
             std::to_string(extent(tile, axis)) + "; " + name + " += " + std::to_string(sides_[axis]) + ")" +
             (axis == 0 ? " {\n" : "\n");
      at += step;
    }
    std::string anew;
    for (int axis : {1, 0}) {
      if (axis == 1 && flat()) continue;
      auto* index = kernel_.index(axis)->variable;
      const bool wide = source_.context().getTypeSize(index->getType()) > 32;
      const std::string block = std::string("blockIdx.") + kAxisNames[axis];
      out += at + "const " +
             (is_int(axis) ? "int"
              : wide       ? "long long"
                           : "int") +
             " " + coordinate(axis) + " = " + (wide ? "static_cast<long long>(" + block + ")" : block) + " * " +
             std::to_string(sides_[axis]) + " + " + places_[axis] + plus(tile.hull.low[axis]) + ";\n";
      if (!is_int(axis))
        anew += at + step + "const " + spelled_type(source_, index) + " " + index->getNameAsString() + " = " +
                coordinate(axis) + ";\n";
    }
    for (auto& [counter, value] : tile.counters)
      anew += at + step + "const int " + counter->getNameAsString() + " = " + std::to_string(value) + ";\n";
    for (auto* declaration : tile.declarations) {
      const size_t begin = source_.span(declaration)->begin;
      anew += at + step + source_.text().substr(begin, *source_.statement_end(declaration) - begin) + "\n";
    }
    std::vector<std::string> conditions;
    for (auto& reads : tile.reads)
      for (auto& box : reads.boxes) conditions.push_back(condition(tile, reads, box));
    // A chain of many && and || has so many paths that neither people nor the comparison for all sizes follow it.
    const std::string either = conditions.size() > kMostChained ? " |" : " ||";
    std::string when;
    const bool always = std::ranges::any_of(conditions, [](auto& one) { return one.empty(); });
    for (auto& one : conditions)
      when += conditions.size() == 1 ? one
                                     : (when.empty() ? "" : either + "\n" + at + "    ") +
                                           (one.find(" && ") == one.npos ? one : "(" + one + ")");
    const std::string load = names_[number] + place + " = " + source_.spelled(tile.base) + ";\n";
    const std::string guard = always ? "" : "if (" + when + ")";
    if (anew.empty()) out += at + guard + (always ? "" : conditions.size() == 1 ? " " : "\n" + at + step) + load;
    else out += at + guard + (always ? "{\n" : " {\n") + anew + at + step + load + at + "}\n";
    out += at.substr(0, at.size() - step.size()) + "}\n";
  }
  return out + indent + "__syncthreads();\n";
}

std::vector<TextEdit> TileFiller::uses() const {
  std::vector<TextEdit> edits;
  for (size_t number = 0; number < names_.size(); ++number) {
    auto& tile = kernel_.tiles()[number];
    for (auto& use : tile.uses) {
      std::string text = names_[number];
      for (int axis : {1, 0}) {
        if (axis == 1 && flat()) continue;
        text += std::string("[threadIdx.") + kAxisNames[axis];
        for (auto& [counter, times] : use.counters[axis])
          text += (times < 0 ? " - " : " + ") + (std::abs(times) == 1 ? "" : std::to_string(std::abs(times)) + " * ") +
                  counter.substr(0, counter.find('#'));
        text += plus(use.at[axis] - tile.hull.low[axis]) + "]";
      }
      auto span = source_.span(use.read);
      edits.push_back({span->begin, span->end, text});
    }
  }
  return edits;
}

/// The recorded launches have threads enough for such a block.
bool suits_launches(const RuleContext& facts, int axis, int64_t side, bool bounded) {
  return std::ranges::all_of(facts.geometries, [&](const Geometry& geometry) {
    const int64_t threads = static_cast<int64_t>(along(geometry.grid, axis)) * along(geometry.block, axis);
    return threads * 2 > side && (bounded || threads % side == 0) &&
           // The grid may not grow where it is limited.
           (axis == 0 || along(geometry.block, axis) <= side || threads / side < along(kLargestGrid, axis) / 2);
  });
}

std::vector<Opportunity> find_stencil_shared_tiling(const KernelSource& source, const RuleContext& facts,
                                                    const Bindings& values) {
  const int64_t sides[] = {values.at("columns"), values.at("rows"), 1};
  const int64_t threads = sides[0] * sides[1];
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel || facts.geometries.empty() || threads < kFewestOfTile || threads > kMostThreadsPerBlock) return {};
  HaloKernel halo(source, facts, kernel);
  if (!halo.find()) {
    if (!halo.why_not().empty() && facts.declined)
      facts.declined(kStencilSharedTiling, "the block's tiles: " + halo.why_not());
    return {};
  }
  if ((sides[1] == 1) != !halo.index(1)) return {};
  TileFiller filler(source, halo, sides[0], sides[1]);
  if (filler.shared_bytes() > kOrdinarySharedBytes) return {};
  Opportunity found;
  std::vector<std::string> arrays;
  for (auto& tile : halo.tiles())
    if (std::string name = tile.array->getNameAsString(); std::ranges::find(arrays, name) == arrays.end())
      arrays.push_back(name);
  found.place = "reads of " + listed(arrays);
  found.summary = "tiles of " + std::to_string(sides[0]) + (sides[1] == 1 ? "" : " x " + std::to_string(sides[1])) +
                  " and a halo in shared memory";
  for (int axis = 0; axis < 3; ++axis) {
    auto* index = axis == 2 ? halo.plane() : halo.index(axis);
    found.launch.emplace(kBlockVariables[axis], Expression::constant(sides[axis]));
    if (!index) continue;
    if (!counts_by_block(source, facts, index->value, axis)) return {};
    const std::string name = kAxisNames[axis], side = std::to_string(sides[axis]);
    auto value = source.span(index->value);
    if (!value) return {};
    if (width_of_index(source.spelled(index->value), axis) != "blockDim." + name)
      found.edits.push_back({value->begin, value->end, "blockIdx." + name + " * " + side + " + threadIdx." + name});
    found.launch.emplace(kGridVariables[axis], ceil_div(Expression::variable(kGridVariables[axis]) *
                                                            Expression::variable(kBlockVariables[axis]),
                                                        Expression::constant(sides[axis])));
    if (axis == 2) continue;
    const bool bounded = halo.bounded(axis);
    if (!suits_launches(facts, axis, sides[axis], bounded)) return {};
    if (!bounded)
      found.premises.push_back(
          facts.premise(*Expression::parse("gridDim." + name + " * blockDim." + name + " % " + side + " == 0")));
  }
  if (halo.march()) {
    // What the iteration before has read is replaced once all threads have read it.
    auto edits = halo.march()->edits(
        source, [&](const std::string& indent) { return filler.declarations(indent); },
        [&](const std::string& indent) { return indent + "__syncthreads();\n" + filler.text(indent); });
    if (edits.empty()) return {};
    found.edits.insert(found.edits.end(), edits.begin(), edits.end());
  } else {
    const size_t place = source.span(halo.place())->begin, line = source.line_begin(place);
    const std::string indent = source.indentation(place);
    found.edits.push_back({line, line, filler.declarations(indent) + filler.text(indent)});
  }
  for (auto& edit : filler.uses()) found.edits.push_back(edit);
  if (!halo.apart().empty()) found.premises.push_back(facts.no_overlap(halo.apart()));
  return {found};
}

}  // namespace

const Rule kStencilSharedTiling = {
    "stencil_shared_tiling",
    "stage what the threads of a block read of a stencil's or convolution's array, with a halo, in shared memory",
    "a global index along x, or along x and y; reads of an array at numbers from it, or in loops with numbers for "
    "bounds, under bounds of the indices alone; the kernel stores to no such array, and has no barrier or shared "
    "memory",
    {{"columns", {32, 64, 16, 128}}, {"rows", {8, 16, 4, 1}}},
    find_stencil_shared_tiling,
    {Bound::Memory, Bound::Latency},
    0.1};

}  // namespace kernelift::tuner
