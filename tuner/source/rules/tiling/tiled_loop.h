// A kernel in which each thread computes one output of two global indices by a loop whose iterations all read other
// elements of the same operands, as in `for (k…) sum += a[i * n + k] * b[k * n + j];`. Its parts are found here, with
// what each of them depends on; shared_tiling writes them anew, for a block that computes a tile of outputs.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/source/rules/rule.h"
#include "tuner/source/rules/tiling/tile_dependence.h"

namespace kernelift::tuner {

struct TileIndex {
  const clang::VarDecl* variable = nullptr;
  int axis = 0;            ///< Of the launch: 0 for x.
  std::string name, type;  ///< The type as it is spelled, without const.
  std::string guard = {};  ///< The condition on this index under which a thread has work; empty: there is none.
  bool bounded = false;    ///< The guard keeps it in bounds, so that there may be more threads.
};

/// A declaration of one variable, or another statement.
struct TileItem {
  const clang::Stmt* statement = nullptr;
  const clang::VarDecl* variable = nullptr;  ///< If set, `statement` is the declaration that contains it.
};

/// An accumulator: a local variable, or an array's element that the loop adds to.
struct TileSum {
  std::string name, type;
  const clang::VarDecl* variable = nullptr;  ///< The local variable, or the array.
  const clang::Expr* element = nullptr;      ///< `c[i * n + j]`; nullptr for a local variable.
  bool loaded = false;                       ///< The element's value before the loop counts.
  bool only_in_loop = false;                 ///< Without iterations, the element is not accessed.
  unsigned bytes = 4;                        ///< Of a sum; 4 where a template's argument decides.
};

/// A value that the loop reads, and that differs between threads and not between iterations.
struct TileKept {
  std::string name, type, value;
  TileAxes axes = 0;
  const clang::VarDecl* variable = nullptr;   ///< A local variable; else a load.
  std::vector<const clang::Stmt*> uses = {};  ///< Of the load.
};

struct TileOperand {
  std::string array, type, element;  ///< "a", "float", "a[i * n + k]".
  unsigned bytes = 4;                ///< Of an element.
  bool of_rows = false;              ///< It depends on the row; else on the column.
  bool along_steps = false;          ///< Elements of successive iterations are adjacent in memory.
  std::vector<const clang::Stmt*> uses = {};
};

struct TiledLoop {
  TileIndex row, column;
  std::string guard;  ///< The condition on both indices under which a thread has work; empty: there is none.
  bool lower = false, upper = false;  ///< Only outputs on or below the diagonal have work, or on or above it.
  const clang::ForStmt* loop = nullptr;
  const clang::VarDecl* counter = nullptr;
  std::string counter_type, first, bound;  ///< It runs from `first` to below `bound`.
  std::vector<TileItem> uniform;           ///< Declarations of values that all threads share.
  std::vector<TileItem> locals;            ///< Declarations that can be repeated where they are needed.
  std::vector<TileItem> before, body, after;
  std::vector<TileSum> sums;
  std::vector<TileKept> kept;
  std::vector<TileOperand> operands;
  std::set<std::string> apart;  ///< Arrays that no other array may overlap.
  bool only_adds = false;       ///< To its sums, so that each of several threads can sum some of the iterations.
  size_t begin = 0, end = 0;    ///< The text from the first statement to the kernel's closing brace.

  /// nullopt if the kernel has another form, or its threads may not be combined. `why_not` then says why, if there is a
  /// loop like that of a product; else it is empty.
  static std::optional<TiledLoop> find(const KernelSource& source, const RuleContext& facts,
                                       const clang::FunctionDecl* kernel, std::string* why_not = nullptr);
  /// Declarations in `locals`, in their order, that these statements need, directly or through others.
  std::vector<TileItem> needed_by(const std::vector<const clang::Stmt*>& statements) const;
};

}  // namespace kernelift::tuner
