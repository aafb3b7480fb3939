// See error_bounds.h.
#include "sandbox/judge/error_bounds.h"

#include <algorithm>
#include <cstring>

namespace kernelift::sandbox {

ErrorBounds::ErrorBounds(ElementLayout of) : layout(std::move(of)) {
  for (auto& lane : layout.lanes) tolerances.push_back(FloatTolerance::standard(lane.type));
}

Comparator ErrorBounds::comparator(size_t lane, bool held_to_length) const {
  auto of = [&](auto& all) { return lane < all.size() ? all[lane].get() : nullptr; };
  return Comparator(layout.lanes[lane].type, tolerances[lane], of(nearer), held_to_length ? of(by_length) : nullptr,
                    of(unsteady));
}

Comparison ErrorBounds::compare(std::span<const std::byte> expected, std::span<const std::byte> got,
                                bool held_to_length) const {
  if (layout.plain()) return comparator(0, held_to_length).compare(expected, got);
  Comparison all;
  size_t whole = std::min(expected.size(), got.size()) / layout.stride * layout.stride;
  // Most buffers are bitwise equal; they need not be split into lanes.
  if (std::memcmp(expected.data(), got.data(), std::min(expected.size(), got.size())) == 0) return all;
  std::vector<std::byte> left, right;
  auto in_buffer = [&](const Mismatch& found, const Lane& lane) {
    Mismatch placed = found;
    placed.index = found.index, placed.offset = found.index * layout.stride + lane.offset;
    if (lane.offset > 0) placed.got += " at byte " + std::to_string(lane.offset) + " of the element";
    return placed;
  };
  for (size_t i = 0; i < layout.lanes.size(); ++i) {
    const Lane& lane = layout.lanes[i];
    Comparison one = comparator(i, held_to_length)
                         .compare(lane_bytes(layout, i, expected.first(whole), left),
                                  lane_bytes(layout, i, got.first(whole), right));
    all.mismatches += one.mismatches;
    all.largest_ulps = std::max(all.largest_ulps, one.largest_ulps);
    all.largest_absolute = std::max(all.largest_absolute, one.largest_absolute);
    if (one.first && (!all.first || one.first->index * layout.stride + lane.offset < all.first->offset))
      all.first = in_buffer(*one.first, lane);
    if (one.worst && (!all.worst || one.worst->distance > all.worst->distance)) all.worst = in_buffer(*one.worst, lane);
  }
  Comparison tail = Comparator({}, {}).compare(expected.subspan(whole), got.subspan(whole));
  all.mismatches += tail.mismatches;
  if (tail.first && !all.first)
    all.first = all.worst = Mismatch{whole, whole / layout.stride, tail.first->expected, tail.first->got, 0};
  return all;
}

std::string ErrorBounds::text() const {
  std::vector<std::string> different;
  for (size_t i = 0; i < layout.lanes.size(); ++i) {
    std::string words = tolerances[i].text(layout.lanes[i].type);
    if (std::find(different.begin(), different.end(), words) == different.end()) different.push_back(words);
  }
  std::string joined;
  for (auto& words : different) joined += (joined.empty() ? "" : "; ") + words;
  if (std::ranges::any_of(nearer, [](auto& lane) { return lane != nullptr; }))
    joined += ", and not clearly nearer to the exact sums either";
  return joined;
}

}  // namespace kernelift::sandbox
