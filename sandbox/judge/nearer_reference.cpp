// See nearer_reference.h.
#include "sandbox/judge/nearer_reference.h"

#include <algorithm>
#include <cmath>

#include "sandbox/judge/comparator.h"
#include "sandbox/judge/rounding_envelope.h"

namespace kernelift::sandbox {
namespace {

constexpr double kClearlyOff = 4;  // Standard errors of the mean.
constexpr double kShareOfError = 0.5;
constexpr int kFewestRuns = 3;
constexpr size_t kMostElements = 1 << 22;  // A reduction has fewer results than inputs; larger buffers hold no sums.

}  // namespace

void NearerReference::add(std::span<const std::byte> reference, std::span<const std::byte> run) {
  const size_t count = std::min(reference.size(), run.size()) / type_.width;
  if (!type_.is_float() || count > kMostElements) return;
  deviation_.resize(count), squares_.resize(count);
  ++runs_;
  for (size_t i = 0; i < count; ++i) {
    double away = type_.real(&run[i * type_.width]) - type_.real(&reference[i * type_.width]);
    deviation_[i] += away, squares_[i] += away * away;
  }
}

bool NearerReference::settle(std::span<const std::byte> reference) {
  radius_.clear();
  if (runs_ < kFewestRuns) return false;
  const size_t each = kNeighbourhood / type_.width;
  for (size_t begin = 0; begin < deviation_.size(); begin += each) {
    size_t end = std::min(deviation_.size(), begin + each);
    double off = 0, variance = 0;
    for (size_t i = begin; i < end; ++i) {
      double mean = (deviation_[i] /= runs_);
      // If a run or the reference is NaN or infinite, the element gets no better reference.
      if (!std::isfinite(mean)) continue;
      off = std::max(off, std::fabs(mean));
      variance = std::max(variance, (squares_[i] - runs_ * mean * mean) / (runs_ - 1));
    }
    double spread = std::sqrt(variance), error = spread / std::sqrt(runs_), radius = 0;
    if (spread > 0 || off > 0) {
      auto scale = scale_of(type_, reference.subspan(begin * type_.width, (end - begin) * type_.width));
      if (scale.rms > 0) of_runs_.rms = std::max(of_runs_.rms, spread / scale.rms);
      if (scale.typical > 0) of_runs_.typical = std::max(of_runs_.typical, spread / scale.typical);
      if (off > kClearlyOff * error)
        radius =
            std::min(kShareOfError * off, scale.rms > 0 ? granted_envelope(type_, spread / scale.rms) * scale.rms : 0);
    }
    radius_.push_back(radius > error ? radius : 0);
  }
  squares_ = {};
  bool any = std::ranges::any_of(radius_, [](double radius) { return radius > 0; });
  if (!any) deviation_ = {}, radius_ = {};
  return any;
}

bool NearerReference::admits(size_t index, double expected, double got) const {
  if (index >= deviation_.size()) return false;
  double radius = radius_[index / (kNeighbourhood / type_.width)];
  return radius > 0 && std::fabs(got - (expected + deviation_[index])) <= radius;
}

}  // namespace kernelift::sandbox
