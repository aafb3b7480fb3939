// On which of a tile's indices a kernel's values depend, and by which of them elements are adjacent in memory.
#pragma once
#include <set>

#include "tuner/source/rules/kernel_source.h"

namespace kernelift::tuner {

/// What a value depends on: a set of these. Threads with neighbouring columns access neighbouring outputs.
using TileAxes = unsigned;
inline constexpr TileAxes kTileRow = 1, kTileColumn = 2, kTileStep = 4;

class TileDependence {
 public:
  /// Collects the variables that the kernel changes after their declaration.
  void note_changes(const clang::Stmt* kernel_body);
  void set_indices(const clang::VarDecl* row, const clang::VarDecl* column, const clang::VarDecl* step) {
    row_ = row, column_ = column, step_ = step;
  }
  bool changes(const clang::VarDecl* variable) const { return changed_.contains(variable); }
  TileAxes of(const clang::Stmt* statement) const;
  TileAxes of_variable(const clang::VarDecl* variable) const;
  /// The element for the next value of `index` is the next in memory: `index` is a term of the subscript.
  bool is_adjacent(const clang::Expr* element, const clang::VarDecl* index) const;

 private:
  bool is_term(const clang::Expr* sum, const clang::VarDecl* index) const;

  const clang::VarDecl *row_ = nullptr, *column_ = nullptr, *step_ = nullptr;
  std::set<const clang::VarDecl*> changed_;
};

/// The element that `__ldg(&x[i])` reads; nullptr for other statements.
const clang::ArraySubscriptExpr* read_through_cache(const clang::Stmt* statement);
/// The element of `alpha * a[i * n + k]` with a factor that is the same for all threads and iterations: where the
/// product is staged, it is not computed again for each output. nullptr for other statements.
const clang::ArraySubscriptExpr* scaled_load(const KernelSource& source, const TileDependence& depends,
                                             const clang::Stmt* statement);

}  // namespace kernelift::tuner
