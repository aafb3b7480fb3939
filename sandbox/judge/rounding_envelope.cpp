// See rounding_envelope.h.
#include "sandbox/judge/rounding_envelope.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kernelift {
namespace {

constexpr double kMargin = 4;
constexpr double kCapUnits = 800;      // Of ElementType::epsilon: 9.5e-5 for float.
constexpr double kNarrowCapUnits = 4;  // Half and bfloat16 results are rounded from wider arithmetic.
constexpr uint32_t kNarrowWidth = 2;

}  // namespace

void RoundingEnvelope::add(std::span<const std::byte> reference, std::span<const std::byte> other) {
  if (!type_.is_float()) return;
  const size_t width = type_.width, whole = std::min(reference.size(), other.size()) / width * width;
  for (size_t begin = 0; begin < whole; begin += kNeighbourhood) {
    size_t end = std::min(whole, begin + kNeighbourhood);
    if (std::memcmp(&reference[begin], &other[begin], end - begin) == 0) continue;
    double furthest = 0;
    for (size_t at = begin; at < end; at += width) {
      double away = std::fabs(type_.real(&reference[at]) - type_.real(&other[at]));
      if (std::isfinite(away)) furthest = std::max(furthest, away);
    }
    double scale = scale_of(type_, reference.subspan(begin, end - begin));
    if (scale > 0) spread_ = std::max(spread_, furthest / scale);
  }
}

double granted_envelope(const ElementType& type, double spread) {
  if (spread <= 0) return 0;
  double cap = (type.width == kNarrowWidth ? kNarrowCapUnits : kCapUnits) * type.epsilon();
  return std::min(cap, kMargin * spread);
}

double RoundingEnvelope::granted() const { return granted_envelope(type_, spread_); }

LaneEnvelopes::LaneEnvelopes(ElementLayout layout) : layout_(std::move(layout)) {
  for (auto& lane : layout_.lanes) lanes_.emplace_back(lane.type);
}

void LaneEnvelopes::add(std::span<const std::byte> reference, std::span<const std::byte> other) {
  std::vector<std::byte> left, right;
  for (size_t i = 0; i < lanes_.size(); ++i)
    if (layout_.lanes[i].type.is_float())
      lanes_[i].add(lane_bytes(layout_, i, reference, left), lane_bytes(layout_, i, other, right));
}

void LaneEnvelopes::grant(Yardstick& yardstick) const {
  for (size_t i = 0; i < lanes_.size(); ++i)
    yardstick.tolerances[i].envelope = std::max(yardstick.tolerances[i].envelope, lanes_[i].granted());
}

LaneReferences::LaneReferences(ElementLayout layout) : layout_(std::move(layout)) {
  for (auto& lane : layout_.lanes) lanes_.emplace_back(lane.type);
}

void LaneReferences::add(std::span<const std::byte> reference, std::span<const std::byte> run) {
  std::vector<std::byte> left, right;
  for (size_t i = 0; i < lanes_.size(); ++i)
    if (layout_.lanes[i].type.is_float()) lanes_[i].add(lane_bytes(layout_, i, reference, left), lane_bytes(layout_, i, run, right));
}

void LaneReferences::grant(std::span<const std::byte> reference, Yardstick& yardstick) const {
  std::vector<std::byte> gathered;
  yardstick.nearer.assign(lanes_.size(), nullptr);
  for (size_t i = 0; i < lanes_.size(); ++i)
    if (auto settled = std::make_shared<NearerReference>(lanes_[i]); settled->settle(lane_bytes(layout_, i, reference, gathered)))
      yardstick.nearer[i] = std::move(settled);
}

}  // namespace kernelift
