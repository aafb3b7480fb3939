#include "reference.h"

#include <algorithm>

#include "config.h"

namespace reference {
namespace {

template <typename Visit>
void for_neighbours(int x, int y, int radius, int width, int height, Visit&& visit) {
  int m = 0;
  for (int dy = -radius; dy <= radius; ++dy)
    for (int dx = -radius; dx <= radius; ++dx, ++m)
      visit(std::clamp(y + dy, 0, height - 1) * width + std::clamp(x + dx, 0, width - 1), m);
}

}  // namespace

std::vector<float> convolve(int radius, const std::vector<float>& mask, const std::vector<float>& in, int width,
                            int height) {
  std::vector<float> out(in.size());
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      double sum = 0;
      for_neighbours(x, y, radius, width, height, [&](int at, int m) { sum += double(mask[m]) * in[at]; });
      out[y * width + x] = static_cast<float>(sum);
    }
  return out;
}

std::vector<float> bilateral(int radius, const std::vector<float>& mask, const std::vector<float>& in, int width,
                             int height, float range) {
  std::vector<float> out(in.size());
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      double sum = 0, weights = 0;
      for_neighbours(x, y, radius, width, height, [&](int at, int m) {
        const double difference = double(in[at]) - in[y * width + x];
        const double closeness = 1.0 / (1.0 + difference * difference / (2.0 * range * range));
        sum += mask[m] * closeness * closeness * in[at];
        weights += mask[m] * closeness * closeness;
      });
      out[y * width + x] = static_cast<float>(sum / weights);
    }
  return out;
}

std::vector<unsigned int> histogram(const std::vector<float>& in) {
  std::vector<unsigned int> counts(kBins);
  for (float value : in) ++counts[std::clamp(static_cast<int>(value * (kBins - 1) + 0.5f), 0, kBins - 1)];
  return counts;
}

}  // namespace reference
