// Percentile bootstrap over pairs; see statistics.h.
#include "sandbox/judge/timing/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kernelift::sandbox {
namespace {

// Enough that about a dozen resamples lie beyond each 2.5 % point, while a call takes a millisecond or two.
constexpr int kResamples = 500;
constexpr double kTail = 0.025;

/// splitmix64: small, seedable and good enough to draw indices.
struct Generator {
  uint64_t state;
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
};

double median_in_place(std::vector<double>& values) {
  if (values.empty()) return 0;
  auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

double median(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  return median_in_place(copy);
}

double relative_spread(std::span<const double> values) {
  double centre = median(values);
  if (values.size() < 2 || centre == 0) return 0;
  std::vector<double> deviations;
  for (double value : values) deviations.push_back(std::fabs(value - centre));
  return median_in_place(deviations) / std::fabs(centre);
}

Ratio paired_ratio(std::span<const double> a, std::span<const double> b, uint64_t seed) {
  Ratio ratio;
  size_t count = std::min(a.size(), b.size());
  double below = median(b.first(count));
  if (count == 0 || below <= 0) return ratio;
  ratio.value = ratio.low = ratio.high = median(a.first(count)) / below;
  if (count < 2) return ratio;
  Generator generator{seed * 0x2545f4914f6cdd1dull + count};
  std::vector<double> ratios, left(count), right(count);
  for (int round = 0; round < kResamples; ++round) {
    for (size_t i = 0; i < count; ++i) {
      size_t pick = generator.next() % count;
      left[i] = a[pick], right[i] = b[pick];
    }
    double denominator = median_in_place(right);
    if (denominator > 0) ratios.push_back(median_in_place(left) / denominator);
  }
  std::sort(ratios.begin(), ratios.end());
  if (ratios.empty()) return ratio;
  ratio.low = std::min(ratio.value, ratios[static_cast<size_t>(kTail * (ratios.size() - 1))]);
  ratio.high = std::max(ratio.value, ratios[static_cast<size_t>((1 - kTail) * (ratios.size() - 1))]);
  return ratio;
}

double low_of_few(std::span<const double> a, std::span<const double> b) {
  // Quantiles of Student's t for a tail of 2.5 %, by pairs.
  constexpr double kQuantiles[] = {0, 0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365};
  const size_t count = std::min({a.size(), b.size(), std::size(kQuantiles) - 1});
  std::vector<double> logs;
  for (size_t i = 0; i < count; ++i) {
    if (a[i] <= 0 || b[i] <= 0) return 0;
    logs.push_back(std::log(a[i] / b[i]));
  }
  // Of one pair nothing is known of its noise, and of a few pairs no less is known than of one.
  constexpr double kDoubtOfOne = 2;
  if (count == 0) return 0;
  const double of_one = std::exp(*std::ranges::min_element(logs)) / kDoubtOfOne;
  if (count < 2) return of_one;
  const auto pairs = static_cast<double>(count);
  const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / pairs;
  double squares = 0;
  for (double one : logs) squares += (one - mean) * (one - mean);
  return std::max(of_one, std::exp(mean - kQuantiles[count] * std::sqrt(squares / (pairs - 1) / pairs)));
}

}  // namespace kernelift::sandbox
