// The text of a kernel whose blocks compute tiles of outputs: operands are staged in shared memory, a slice of the
// loop's iterations at a time, and each thread keeps its outputs in registers. The values that are added to an output
// are those of the original, in its order unless slices of the block each sum some of the iterations.
#pragma once
#include <algorithm>
#include <optional>
#include <string>

#include "tuner/source/rules/tiling/tiled_loop.h"

namespace kernelift::tuner {

struct TileShape {
  int64_t rows = 0, columns = 0;                ///< Outputs of a block.
  int64_t thread_rows = 0, thread_columns = 0;  ///< Outputs of a thread.
  int64_t slices = 1;                           ///< Along z: so many threads share the iterations of the same outputs.
  bool ahead = false;                           ///< What is staged next is loaded while the present tiles are used.

  int64_t threads_x() const { return columns / thread_columns; }
  int64_t threads_y() const { return rows / thread_rows; }
  int64_t threads() const { return threads_x() * threads_y() * slices; }
  /// Iterations of a slice whose operands are staged at a time: what a row of threads loads of one row of outputs, or
  /// fewer where each thread keeps the next ones in registers.
  int64_t steps() const { return ahead ? std::min<int64_t>(threads_x(), 8) : threads_x(); }
  int64_t depth() const { return steps() * slices; }  ///< Of all slices.
};

class TileText {
 public:
  TileText(const KernelSource& source, const TiledLoop& loop, const TileShape& shape);
  /// What stands in place of the text from `loop.begin` to `loop.end`; nullopt if a macro spells a part of it.
  std::optional<std::string> text();
  /// Of all staged tiles.
  int64_t shared_bytes() const;

 private:
  /// Where a part of the text is executed.
  enum class Region { Outputs, Loop };
  struct Names {
    std::string u, v, part, piece, thread, thread_step, block_row, block_column, thread_row, thread_column, start,
        first, end, slice, load;
  };

  int64_t padding(const TileOperand& operand) const;
  int64_t pieces(const TileOperand& operand) const;
  bool by_number(const TileOperand& operand) const;
  std::string subscripts(TileAxes axes) const;
  std::string thread_column() const;
  bool in_parts() const { return shape_.thread_columns > width_; }
  std::string indices(const std::string& indent, TileAxes axes) const;
  void add(std::string& out, const std::string& indent, std::string line) const { out += indent + line + "\n"; }
  void add_loops(std::string& out, std::string& indent, bool block) const;
  std::string condition(const std::string& row_or_column_guard) const;
  std::optional<std::string> rewritten(const clang::Stmt* statement, Region region, const std::string& indent) const;
  std::optional<std::string> declaration(const TileItem& item, Region region, const std::string& indent) const;
  std::string comments_above(const clang::Stmt* statement, const std::string& indent) const;
  /// With the comments above them, or of `repeated` declarations without.
  bool add_items(std::string& out, const std::string& indent, const std::vector<TileItem>& items, Region region,
                 bool repeated = false) const;
  bool add_declarations(std::string& out, const std::string& indent) const;
  bool add_outputs(std::string& out, const std::string& indent, bool before) const;
  /// To shared memory at once, to registers, or from there to shared memory.
  enum class Staging { Whole, Load, Store };
  bool add_staging(std::string& out, const std::string& indent, Staging staging) const;
  bool add_loads_ahead(std::string& out, const std::string& indent) const;
  bool add_inner_loop(std::string& out, const std::string& indent) const;
  void add_slices_up(std::string& out, const std::string& indent) const;

  const KernelSource& source_;
  const TiledLoop& loop_;
  const TileShape shape_;
  Names names_;
  std::vector<std::string> tiles_;  ///< Names of the operands' tiles.
  int64_t width_ = 4;               ///< Elements that a thread reads at once from a tile's row.
};

}  // namespace kernelift::tuner
