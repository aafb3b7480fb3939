// The results that rounding errors allow a kernel's sums by their own length: within the error bound of each result of
// what it would be without rounding (NumberKind::ErrorBounds and Precise of core/model/launch/field_run.h). The
// original is run for both. Such a bound grows with the number and size of the terms, and not with how far the
// original's own results happen to be from the exact ones; so a sum in another order stays within it, also where terms
// cancel. It says nothing of a lost term that is small: it is asked only of candidates that compute the same formula.
#pragma once
#include <span>
#include <vector>

#include "core/model/element_layout.h"

namespace kernelift::sandbox {

/// What stands beside one element's float; NaN: nothing is known of it.
struct BesideElement {
  double precise = 0, error = 0;
};

/// Of a lane's elements from `first` on; nothing is known of the others. A launch that leaves one row of a matrix says
/// little.
struct BesideLane {
  size_t first = 0;
  std::vector<BesideElement> elements = {};
};

class LengthBound {
 public:
  /// Of a lane of floats. `reference`: the original's results. EXPECTS: it has the elements of `beside`.
  LengthBound(std::span<const std::byte> reference, const BesideLane& beside);
  /// For the answers to other inputs, which lie between those of `one` and `other`: around each answer, a share of the
  /// lesser error of both. What is within it need not wait for bounds of these inputs' own. EXPECTS: both of one size.
  static LengthBound between(const LengthBound& one, const LengthBound& other);
  /// Whether it bounds any element.
  bool any() const { return any_; }
  /// EXPECTS: `expected`, the recorded value of element `index`, and `got` are finite.
  bool admits(size_t index, double expected, double got) const;

 private:
  LengthBound() = default;
  /// The answer itself is not stored: code that runs in a copy of this process must not find it.
  struct Bound {
    double away = 0;    ///< From the reference to what it would be without rounding.
    double error = -1;  ///< Below 0: nothing is known.
  };
  size_t first_ = 0;  ///< The element of bounds_[0].
  std::vector<Bound> bounds_;
  bool any_ = false;
};

}  // namespace kernelift::sandbox
