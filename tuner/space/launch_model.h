// The expressions of a launch site, fitted to one MEP: whether they reproduce the recorded geometries, with which
// values of their free variables, and by which divisor each grid axis follows the block. From `k<<<(n + B - 1) / B,
// B>>>(…, n)` it derives how the grid scales if B changes.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/model/mep.h"

namespace kernelift::tuner {

class LaunchModel {
 public:
  /// The first launch site that is consistent with every recorded instance; nullopt if there is none. `contradiction`
  /// then holds a value of the last site and the recorded value that differs from it.
  static std::optional<LaunchModel> fit(const Mep& mep, std::string& contradiction);

  const std::optional<Expression>& grid(int axis) const { return grid_[axis]; }
  const std::optional<Expression>& block(int axis) const { return block_[axis]; }
  /// D in a grid of the form `… / D` or `ceil_div(…, D)`.
  std::optional<Expression> divisor(int axis) const;
  /// The grid's extent that the site would launch for the instance with these values of the knobs. Free variables keep
  /// the value found for the instance: the largest that gives the recorded grid, if they had to be solved for.
  Result<int64_t> grid_at(int axis, size_t instance, const Bindings& knobs) const;

 private:
  Bindings knobs_;  ///< Recorded values.
  std::optional<Expression> grid_[3], block_[3];
  std::vector<Bindings> bound_[3];  ///< Free variables of the grid expression, by axis and instance.
};

/// Bytes of dynamic shared memory as an expression of knobs ("B * 4"), if all launches have the same one and it gives
/// the recorded sizes; else nullopt, also if no knob is used.
std::optional<Expression> shared_bytes_by_knobs(const Mep& mep);

}  // namespace kernelift::tuner
