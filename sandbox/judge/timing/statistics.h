// Figures from samples: medians, and how sure a ratio of medians is. Nothing is discarded: an outlier stays in, and a
// median does not mind it. Deterministic: the bootstrap draws from its own seeded generator.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace kernelift {

double median(std::span<const double> values);  ///< 0 of none.
/// Median absolute deviation as a share of the median; 0 of fewer than two.
double relative_spread(std::span<const double> values);

struct Ratio {
  double value = 1, low = 1, high = 1;  ///< The ratio of medians with its 95 % interval.
  double relative_width() const { return value > 0 ? (high - low) / value : 0; }
};

/// Ratio median(a) / median(b). Samples are pairs taken one after the other, and whole pairs are resampled, so that
/// what slowed both (a clock, a neighbour) does not widen the interval. EXPECTS: equal sizes.
Ratio paired_ratio(std::span<const double> a, std::span<const double> b, uint64_t seed = 1);

}  // namespace kernelift
