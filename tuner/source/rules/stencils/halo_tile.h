// Arrays of which neighbouring threads of a stencil or convolution read the same elements, by subscripts at constant
// distances from their global indices: `a[(i - 1) * n + j]`, or `a[(i + p) * n + j + q]` in loops over p and q with
// numbers for bounds. What a block's threads read of such an array is a tile: as many elements as threads, and a halo
// around them. Which elements of it the original reads follows from its guards, exactly.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/source/rules/rule.h"
#include "tuner/source/rules/stencils/index_conditions.h"
#include "tuner/source/rules/stencils/marching_loop.h"
#include "tuner/source/rules/threads/block_index.h"

namespace clang {
class CompoundStmt;
}

namespace kernelift::tuner {

/// Distances along x and y from the element that a thread's `base` read is.
struct HaloBox {
  int64_t low[2] = {}, high[2] = {};
  int gap = -1;  ///< The axis along which there are two distances alone, next but one to each other.
};

/// Reads under the same conditions.
struct HaloReads {
  std::set<IndexBound> threads;     ///< Of the global indices of threads that read.
  std::set<IndexBound> elements;    ///< Of the elements: the index of the thread whose base read is the element.
  std::set<std::string> agreed;     ///< Conditions on which the threads of a block agree.
  std::vector<HaloBox> boxes = {};  ///< Together all distances, and no other.
};

struct HaloUse {
  const clang::ArraySubscriptExpr* read = nullptr;
  int64_t at[2] = {};  ///< Distance, without counters.
  IndexBound::Counters counters[2] = {};
};

struct HaloTile {
  const clang::VarDecl* array = nullptr;
  std::string type;
  int64_t bytes = 0;                                                ///< Of an element.
  const clang::ArraySubscriptExpr* base = nullptr;                  ///< The read that distances are counted from.
  std::vector<std::pair<const clang::VarDecl*, int64_t>> counters;  ///< For these values of loops' counters.
  std::vector<const clang::Stmt*> declarations;  ///< That base's subscript needs, for other values of the indices.
  HaloBox hull;
  std::set<std::string> numbers;  ///< What names in loops' bounds have to be: "RADIUS == 2".
  std::vector<HaloReads> reads;
  std::vector<HaloUse> uses;
};

/// A kernel's tiles, and where they can be filled: all threads of a block come there.
class HaloKernel {
 public:
  HaloKernel(const KernelSource& source, const RuleContext& facts, const clang::FunctionDecl* kernel);

  /// False if there are none; why_not() says why, if the kernel looks like a stencil.
  bool find();
  const std::string& why_not() const { return why_not_; }
  const std::vector<HaloTile>& tiles() const { return tiles_; }
  /// The global index along x or y; nullptr: along y, the kernel has none.
  const GlobalIndex* index(int axis) const { return indices_[axis] ? &*indices_[axis] : nullptr; }
  /// The global index along z, of blocks that may have several threads along it.
  const GlobalIndex* plane() const { return indices_[2] ? &*indices_[2] : nullptr; }
  /// A condition keeps the index in bounds wherever memory is accessed, so that there may be more threads.
  bool bounded(int axis) const;
  /// The statement in front of which the tiles can be filled; without march().
  const clang::Stmt* place() const { return place_; }
  /// The loop in each iteration of which the tiles are filled anew: plane by plane of a volume.
  const std::optional<MarchingLoop>& march() const { return march_; }
  /// Arrays that no other array may overlap.
  const std::set<std::string>& apart() const { return apart_; }

 private:
  struct Read;
  struct Family;
  bool give_up(const std::string& why) {
    why_not_ = why;
    return false;
  }
  bool find_indices();
  bool find_place(std::vector<Family>& candidates);
  void find_march(std::vector<Family>& candidates);
  std::vector<const clang::VarDecl*> of_threads() const;
  std::vector<Family> families();
  std::string complete(Read& read, const Family& family) const;
  std::string add_tile(const Family& family);
  std::string choose_base(HaloTile& tile, const std::vector<Read>& reads) const;
  std::string declare(HaloTile& tile) const;

  const KernelSource& source_;
  const RuleContext& facts_;
  const clang::FunctionDecl* kernel_;
  const clang::CompoundStmt* body_;
  std::optional<GlobalIndex> indices_[3];
  std::vector<const clang::VarDecl*> counters_;  ///< Of all loops.
  std::optional<IndexSums> sums_;
  std::optional<ConditionReader> reader_;
  const clang::Stmt* place_ = nullptr;
  std::optional<MarchingLoop> march_;
  std::vector<HaloTile> tiles_;
  std::set<std::string> apart_;
  std::string why_not_;
};

/// The values that the counter of `for (k = -R; k <= R; ++k)` has, if its bounds are numbers: the first and the last.
std::optional<std::pair<int64_t, int64_t>> counted_range(const KernelSource& source, const clang::ForStmt* loop);

}  // namespace kernelift::tuner
