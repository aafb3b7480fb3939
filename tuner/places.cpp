// See places.h.
#include "tuner/places.h"

#include <algorithm>

namespace kernelift::tuner {
namespace {

constexpr double kLaunches = 2;  ///< A candidate is verified and timed: each takes a launch at least.
constexpr double kAtOnce = 8;    ///< One of so many affordable candidates is in flight.
constexpr size_t kFewest = 2;    ///< One is compiled while the other is measured.

}  // namespace

size_t places_for(const Verdict& original, double seconds, size_t all) {
  double launch = 0;
  for (auto& timing : original.timings) launch += timing.baseline_seconds;
  if (launch * kLaunches * kAtOnce * static_cast<double>(all) <= seconds) return all;
  return std::min(all, std::max(kFewest, static_cast<size_t>(seconds / (launch * kLaunches * kAtOnce))));
}

}  // namespace kernelift::tuner
