// See length_bound.h.
#include "sandbox/judge/length_bound.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kernelift::sandbox {

LengthBound::LengthBound(std::span<const std::byte> reference, std::span<const BesideElement> beside)
    : bounds_(beside.size()) {
  for (size_t i = 0; i < beside.size(); ++i) {
    float answer = 0;
    std::memcpy(&answer, &reference[i * sizeof answer], sizeof answer);
    const double away = beside[i].precise - answer;
    if (!std::isfinite(away) || !std::isfinite(beside[i].error)) continue;
    bounds_[i] = {away, beside[i].error};
    any_ = true;
  }
}

LengthBound LengthBound::between(const LengthBound& one, const LengthBound& other) {
  constexpr double kShare = 0.25;  // The answers themselves are off by a part of the error.
  LengthBound made;
  made.bounds_.resize(std::min(one.bounds_.size(), other.bounds_.size()));
  for (size_t i = 0; i < made.bounds_.size(); ++i) {
    const double error = std::min(one.bounds_[i].error, other.bounds_[i].error);
    if (error < 0) continue;
    made.bounds_[i] = {0, kShare * error};
    made.any_ = true;
  }
  return made;
}

bool LengthBound::admits(size_t index, double expected, double got) const {
  if (index >= bounds_.size() || bounds_[index].error < 0) return false;
  return std::fabs(got - (expected + bounds_[index].away)) <= bounds_[index].error;
}

}  // namespace kernelift::sandbox
