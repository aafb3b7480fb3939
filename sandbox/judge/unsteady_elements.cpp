// See unsteady_elements.h.
#include "sandbox/judge/unsteady_elements.h"

#include <algorithm>
#include <cmath>

namespace kernelift::sandbox {

void UnsteadyElements::add(std::span<const std::byte> reference, std::span<const std::byte> run) {
  constexpr double kFarther = 0x1p-12;  // As a share of the answer.
  constexpr size_t kFew = 8, kOneOf = 1000;
  moved_.resize(reference.size() / type_.width);
  size_t farther = 0;
  for (size_t i = 0; i < moved_.size(); ++i) {
    const std::byte *one = &reference[i * type_.width], *other = &run[i * type_.width];
    const double distance = std::fabs(type_.real(one) - type_.real(other));
    if (std::isfinite(distance)) moved_[i] = std::max(moved_[i], static_cast<float>(distance));
    farther += moved_[i] > kFarther * std::fabs(type_.real(one));
  }
  few_ = farther <= std::max(kFew, moved_.size() / kOneOf);
}

bool UnsteadyElements::admits(size_t index, double expected, double got) const {
  constexpr double kMargin = 2;  // Only a few roundings were tried.
  return few_ && index < moved_.size() && std::fabs(got - expected) <= kMargin * moved_[index];
}

}  // namespace kernelift::sandbox
