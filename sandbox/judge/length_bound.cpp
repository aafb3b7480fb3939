// See length_bound.h.
#include "sandbox/judge/length_bound.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kernelift::sandbox {

LengthBound::LengthBound(std::span<const std::byte> reference, const BesideLane& beside)
    : first_(beside.first), bounds_(beside.elements.size()) {
  for (size_t i = 0; i < bounds_.size(); ++i) {
    const BesideElement& element = beside.elements[i];
    float answer = 0;
    std::memcpy(&answer, &reference[(first_ + i) * sizeof answer], sizeof answer);
    const double away = element.precise - answer;
    if (!std::isfinite(away) || !std::isfinite(element.error)) continue;
    bounds_[i] = {away, element.error};
    any_ = true;
  }
}

LengthBound LengthBound::between(const LengthBound& one, const LengthBound& other) {
  constexpr double kShare = 0.25;  // The answers themselves are off by a part of the error.
  LengthBound made;
  const size_t end = std::min(one.first_ + one.bounds_.size(), other.first_ + other.bounds_.size());
  made.first_ = std::max(one.first_, other.first_);
  made.bounds_.resize(end > made.first_ ? end - made.first_ : 0);
  for (size_t i = 0; i < made.bounds_.size(); ++i) {
    const size_t at = made.first_ + i;
    const double error = std::min(one.bounds_[at - one.first_].error, other.bounds_[at - other.first_].error);
    if (error < 0) continue;
    made.bounds_[i] = {0, kShare * error};
    made.any_ = true;
  }
  return made;
}

bool LengthBound::admits(size_t index, double expected, double got) const {
  if (index < first_ || index - first_ >= bounds_.size()) return false;
  const Bound& bound = bounds_[index - first_];
  return bound.error >= 0 && std::fabs(got - (expected + bound.away)) <= bound.error;
}

}  // namespace kernelift::sandbox
