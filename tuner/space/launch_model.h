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
  /// Whether a divisor of `to` instead of `from` covers the same threads for every size. `ceil_div(n, D)` starts
  /// threads past the end, so the kernel guards its index and any divisor is permitted; for `n / D` only divisors of
  /// `from` are, unless n is constant.
  bool may_divide_by(int axis, int64_t from, int64_t to) const;
  /// The grid's extent that the site would launch for the instance with these values of the knobs. Free variables keep
  /// the value found for the instance: the largest that gives the recorded grid, if they had to be solved for.
  Result<int64_t> grid_at(int axis, size_t instance, const Bindings& knobs) const;

 private:
  Bindings knobs_;  ///< Recorded values.
  std::optional<Expression> grid_[3], block_[3];
  std::vector<Bindings> bound_[3];  ///< Free variables of the grid expression, by axis and instance.
};

}  // namespace kernelift::tuner
