// Medians of samples, and confidence intervals of ratios of medians. No sample is discarded; medians are robust against
// outliers. Deterministic: the bootstrap has its own seeded generator.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace kernelift::sandbox {

double median(std::span<const double> values);  ///< 0 if there are no values.
/// Median absolute deviation as a share of the median; 0 for fewer than two values.
double relative_spread(std::span<const double> values);

struct Ratio {
  double value = 1, low = 1, high = 1;  ///< The ratio of medians with its 95 % interval.
  double relative_width() const { return value > 0 ? (high - low) / value : 0; }
};

/// Ratio median(a) / median(b). Each pair of samples was taken back to back, and whole pairs are resampled, so that a
/// disturbance that slows both (clock changes, other processes) does not widen the interval. EXPECTS: equal sizes.
Ratio paired_ratio(std::span<const double> a, std::span<const double> b, uint64_t seed = 1);

/// Lower end of the 95 % interval of a/b by Student's t over the logarithms of a few pairs, of which resampling says
/// too little, or half of the least ratio, if that is more; 0: of none, or no durations.
double low_of_few(std::span<const double> a, std::span<const double> b);

}  // namespace kernelift::sandbox
