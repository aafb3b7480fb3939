// See rounding_envelope.h.
#include "sandbox/judge/rounding_envelope.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kernelift::sandbox {
namespace {

constexpr double kMargin = 4;
// Two runs of one program differ less than two builds; but only a few runs are observed. A single sum with normally
// distributed noise exceeds three times the largest difference among sixteen runs once in 4000, and twice that of eight
// runs once in 57.
constexpr double kRunMargin = 3;
// Of the largest standard deviation in a neighbourhood. Roundings to the nearest err by 0.3 units, those at random by
// half a unit, and the largest of a million differences is five deviations.
constexpr double kSumsMargin = 3;
// The geometric mean is a weaker measure of the size of an element's terms: small numbers among the others lower it.
constexpr double kTypicalMargin = 4;
constexpr double kCapUnits = 800;      // In units of ElementType::epsilon: 9.5e-5 for float.
constexpr double kNarrowCapUnits = 4;  // Half and bfloat16 results are rounded from wider arithmetic.
constexpr uint32_t kHalfWidth = 2;

void widen(FloatTolerance& tolerance, double envelope, double typical) {
  if (envelope <= 0) return;
  tolerance.typical = tolerance.envelope > 0 ? std::max(tolerance.typical, typical) : typical;
  tolerance.envelope = std::max(tolerance.envelope, envelope);
}

}  // namespace

double free_ulps(const ElementType& type) { return FloatTolerance::standard(type).ulps / kMargin; }

void RoundingEnvelope::add(std::span<const std::byte> reference, std::span<const std::byte> other) {
  if (!type_.is_float()) return;
  FloatTolerance free;
  free.ulps = free_ulps(type_);
  const judging::Task task = task_of(type_, free);
  const size_t width = type_.width, whole = std::min(reference.size(), other.size()) / width * width;
  for (size_t begin = 0; begin < whole; begin += kNeighbourhood) {
    size_t end = std::min(whole, begin + kNeighbourhood);
    if (std::memcmp(&reference[begin], &other[begin], end - begin) == 0) continue;
    double furthest = 0;
    for (size_t at = begin; at < end; at += width) {
      judging::Difference moved = judging::compare(task, bits_of(type_, &reference[at]), bits_of(type_, &other[at]), 0);
      furthest = std::max(furthest, judging::beyond_ulps(task, moved)), spread_.denormals |= moved.denormal;
    }
    if (furthest == 0) continue;
    judging::Scale scale = scale_of(type_, reference.subspan(begin, end - begin));
    if (scale.rms > 0) spread_.rms = std::max(spread_.rms, furthest / scale.rms);
    if (scale.typical > 0) spread_.typical = std::max(spread_.typical, furthest / scale.typical);
  }
}

static double capped(const ElementType& type, double envelope) {
  return std::min((type.width == kHalfWidth ? kNarrowCapUnits : kCapUnits) * type.epsilon(), envelope);
}

double granted_envelope(const ElementType& type, double spread) {
  return spread > 0 ? capped(type, kMargin * spread) : 0;
}

void Spread::grant(const ElementType& type, FloatTolerance& tolerance) const {
  widen(tolerance, granted_envelope(type, rms), kTypicalMargin * kMargin * typical);
  tolerance.denormals |= denormals;
}

void Spread::grant_of_runs(FloatTolerance& tolerance) const {
  widen(tolerance, kRunMargin * rms, kTypicalMargin * kRunMargin * typical);
  tolerance.denormals |= denormals;
}

void Spread::grant_of_sums(const ElementType& type, FloatTolerance& tolerance) const {
  widen(tolerance, capped(type, kSumsMargin * rms), kTypicalMargin * kSumsMargin * typical);
}

void grant_of_alike(const FloatTolerance& other, FloatTolerance& tolerance) {
  widen(tolerance, other.envelope, other.typical);
  tolerance.denormals |= other.denormals, tolerance.zero_signs &= other.zero_signs;
}

LaneEnvelopes::LaneEnvelopes(ElementLayout layout) : layout_(std::move(layout)) {
  for (auto& lane : layout_.lanes) lanes_.emplace_back(lane.type);
}

void LaneEnvelopes::add(std::span<const std::byte> reference, std::span<const std::byte> other) {
  std::vector<std::byte> left, right;
  for (size_t i = 0; i < lanes_.size(); ++i)
    if (layout_.lanes[i].type.is_float())
      lanes_[i].add(lane_bytes(layout_, i, reference, left), lane_bytes(layout_, i, other, right));
}

void LaneEnvelopes::grant(ErrorBounds& bounds) const {
  for (size_t i = 0; i < lanes_.size(); ++i) lanes_[i].spread().grant(layout_.lanes[i].type, bounds.tolerances[i]);
}

LaneReferences::LaneReferences(ElementLayout layout) : layout_(std::move(layout)) {
  for (auto& lane : layout_.lanes) lanes_.emplace_back(lane.type);
}

void LaneReferences::add(std::span<const std::byte> reference, std::span<const std::byte> run) {
  std::vector<std::byte> left, right;
  for (size_t i = 0; i < lanes_.size(); ++i)
    if (layout_.lanes[i].type.is_float())
      lanes_[i].add(lane_bytes(layout_, i, reference, left), lane_bytes(layout_, i, run, right));
}

void LaneReferences::grant(std::span<const std::byte> reference, ErrorBounds& bounds) const {
  std::vector<std::byte> gathered;
  bounds.nearer.assign(lanes_.size(), nullptr);
  for (size_t i = 0; i < lanes_.size(); ++i) {
    auto settled = std::make_shared<NearerReference>(lanes_[i]);
    const bool nearer = settled->settle(lane_bytes(layout_, i, reference, gathered));
    const auto deviation = settled->deviation();
    Spread{deviation.rms, deviation.typical}.grant_of_sums(layout_.lanes[i].type, bounds.tolerances[i]);
    if (nearer) bounds.nearer[i] = std::move(settled);
  }
}

}  // namespace kernelift::sandbox
