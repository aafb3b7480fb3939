// A better reference for sums whose recorded answer is far from the exact sum. A float sum that is rounded in the same
// direction a million times ends far from the exact sum, in any order of its terms; the original repeats that error,
// and a rewrite that adds up in registers or in a tree would be refused although it is more accurate. So the original
// is also compiled with randomly rounded sums (core/compiler/sums.h) and run a few times: these results are right on
// average, and their mean estimates the exact sums.
//   applies   only where the mean is certain enough: the recorded answer is several standard errors away from it, and
//             one standard error is below the radius
//   radius    the spread of the runs about their mean, with the margin and cap of a rounding envelope, and at most half
//             of the recorded answer's distance from the mean: an accepted value has at most half its error
//   locality  each neighbourhood of a lane has a radius of its own
// Values accepted in this way are near the exact sums; a dropped term or a wrong constant does not bring a result
// there.
#pragma once
#include <span>
#include <vector>

#include "core/model/element.h"

namespace kernelift::sandbox {

class NearerReference {
 public:
  explicit NearerReference(ElementType type) : type_(type) {}
  /// Adds the results of one more randomly rounded run. `reference`: the original's results. EXPECTS: equal sizes, the
  /// same in every call.
  void add(std::span<const std::byte> reference, std::span<const std::byte> run);
  /// To be called after the last run. False: no element has a better reference.
  bool settle(std::span<const std::byte> reference);
  /// The largest standard deviation of a run from the mean, as shares of its neighbourhood's scales.
  struct Deviation {
    double rms = 0, typical = 0;
  };
  /// 0 before settle(), and of too few runs.
  Deviation deviation() const { return of_runs_; }
  /// Whether `got` is near enough to the better reference. EXPECTS: settled; `expected`, the recorded value of element
  /// `index`, and `got` are finite.
  bool admits(size_t index, double expected, double got) const;

 private:
  ElementType type_;
  int runs_ = 0;
  /// Per element: the sum (after settle() the mean) of the runs' differences from the reference, and the sum of their
  /// squares. The answer itself is not stored: code that runs in a copy of this process must not find it.
  std::vector<double> deviation_, squares_;
  Deviation of_runs_;
  std::vector<double> radius_;  ///< Per neighbourhood; 0: only the recorded answer counts.
};

}  // namespace kernelift::sandbox
