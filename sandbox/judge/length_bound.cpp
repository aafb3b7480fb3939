// See length_bound.h.
#include "sandbox/judge/length_bound.h"

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

bool LengthBound::admits(size_t index, double expected, double got) const {
  if (index >= bounds_.size() || bounds_[index].error < 0) return false;
  return std::fabs(got - (expected + bounds_[index].away)) <= bounds_[index].error;
}

}  // namespace kernelift::sandbox
