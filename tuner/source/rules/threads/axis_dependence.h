// Which values and statements of a kernel depend on the index along which axis. A rule that gives one thread or block
// the work of several needs to know it: a statement that depends on x alone is repeated along x and executed once for
// all y.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tuner/source/rules/kernel_source.h"
#include "tuner/source/rules/rule.h"

namespace kernelift::tuner {

/// An axis along which a thread or block takes over the work of its neighbours.
struct JamAxis {
  int64_t count = 1;                      ///< Number of original threads or blocks per new one.
  const clang::VarDecl* index = nullptr;  ///< The variable that holds the index along the axis; else `block` is set.
  std::string block = {};                 ///< The built-in variable that holds it: "blockIdx.y", "threadIdx.x".
  std::string name = {};                  ///< Name for copies of `block`: "block_y" gives "block_y", "block_y_1" …
  /// For copies in loops: what the copy with a number has in place of `block`.
  std::function<std::string(const std::string& number)> in_loop = {};
};

class AxisDependence {
 public:
  using Axes = unsigned;  ///< One bit per entry of `axes`.
  /// `shared_is_common`: a shared array is one for all neighbours, which are threads of a block.
  AxisDependence(const KernelSource& source, std::vector<JamAxis> axes, bool shared_is_common = false);

  /// Determines the dependents. Inside one of `guards`, control flow does not depend on the index: the rewritten text
  /// runs only where all neighbours fulfil the guard.
  void propagate(const std::vector<const clang::Stmt*>& statements, const std::set<const clang::IfStmt*>& guards);
  Axes axes_of(const clang::Stmt* statement) const;
  /// Axes on which the loop's init, condition or increment depends.
  Axes axes_of_header(const clang::ForStmt* loop) const;
  /// The axis for which a guard's condition is an upper bound of the index (its negation, if the guard `leaves`): if a
  /// neighbour is in bounds, so are those before it, and from some index on none is.
  Axes bounds(const clang::Expr* condition, bool leaves) const;
  const std::vector<JamAxis>& axes() const { return axes_; }
  const std::map<const clang::VarDecl*, Axes>& dependents() const { return depends_; }

 private:
  void propagate(const clang::Stmt* statement, Axes outer, const std::set<const clang::IfStmt*>& guards);

  const KernelSource& source_;
  std::vector<JamAxis> axes_;
  const bool shared_is_common_;
  std::map<const clang::VarDecl*, Axes> depends_;
};

/// Something that `waits` (has_barrier) stands under a condition, or in a loop, that differs between threads of a
/// block.
bool waits_by_thread(const KernelSource& source, const clang::CompoundStmt* body, bool (*waits)(const clang::Stmt*));

/// Some lanes of a warp may run a warp operation while the others have ended, which is as good as having taken part:
/// rows of a block are no whole warps, and the operation stands under a condition of threads. Where they wait for a
/// barrier instead, the operation waits for them.
bool rests_on_ended_lanes(const KernelSource& source, const clang::CompoundStmt* body, const RuleContext& facts);

}  // namespace kernelift::tuner
