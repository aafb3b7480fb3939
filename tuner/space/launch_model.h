// What a launch site's expressions say about one MEP: do they reproduce the recorded geometries, with which values of
// their free variables, and by which divisor does each grid axis follow the block? The bridge between the text of
// `k<<<(n + B - 1) / B, B>>>(…, n)` and a grid that scales when B is turned.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/model/mep.h"

namespace kernelift {

class LaunchModel {
 public:
  /// The first launch site that is consistent with every recorded instance; nullopt if there is none, and then
  /// `contradiction` is what the last one says and what was recorded instead.
  static std::optional<LaunchModel> fit(const Mep& mep, std::string& contradiction);

  const std::optional<Expression>& grid(int axis) const { return grid_[axis]; }
  const std::optional<Expression>& block(int axis) const { return block_[axis]; }
  /// D in a grid of the form `… / D` or `ceil_div(…, D)`.
  std::optional<Expression> divisor(int axis) const;
  /// True where a divisor of `to` in the place of `from` starts neither fewer threads than the site needs nor others
  /// than it has ever started, whatever the size: `ceil_div(n, D)` starts some past the end by itself, so that the
  /// kernel guards its index; of `n / D` nobody knows, and there only what divides `from` is certain, or a constant
  /// size.
  bool may_divide_by(int axis, int64_t from, int64_t to) const;
  /// The grid axis that the site would launch for instance `i` when the knobs have these values. Free variables keep
  /// the value found for the instance (the largest that gives the recorded grid, where they had to be solved for).
  Result<int64_t> grid_at(int axis, size_t instance, const Bindings& knobs) const;

 private:
  Bindings knobs_;  ///< As recorded.
  std::optional<Expression> grid_[3], block_[3];
  std::vector<Bindings> bound_[3];  ///< Per axis, per instance: free variables of the grid expression.
};

}  // namespace kernelift
