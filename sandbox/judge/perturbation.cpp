// See perturbation.h.
#include "sandbox/judge/perturbation.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kernelift::sandbox {
namespace {

constexpr double kMove = 1.0 / 256, kNarrowMove = 1.0 / 16;
constexpr uint32_t kNarrowWidth = 2;

/// A pseudo-random number for an element: splitmix64.
uint64_t draw(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

double factor(double most, uint64_t random) {
  return 1 + most * (0.5 + 0.5 * static_cast<double>(random >> 11) * 0x1p-53);
}

/// A faster loop for plain arrays of float or double, which are most of the recorded memory.
template <class T>
bool jitter_row(std::span<std::byte> bytes, uint64_t seed) {
  bool any = false;
  for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    T value;
    std::memcpy(&value, &bytes[i * sizeof(T)], sizeof(T));
    T larger = static_cast<T>(value * factor(kMove, draw(seed, i)));
    if (!std::isfinite(larger) || larger == value || !std::isnormal(value)) continue;
    std::memcpy(&bytes[i * sizeof(T)], &larger, sizeof(T));
    any = true;
  }
  return any;
}

}  // namespace

const char* name(Perturbation kind) {
  return kind == Perturbation::Jitter ? "slightly larger values" : "swapped neighbours";
}

bool perturb(const ElementLayout& layout, std::span<std::byte> bytes, Perturbation kind, uint64_t seed) {
  if (kind == Perturbation::Jitter && layout.plain()) {
    if (layout.lanes[0].type.kind == ElementType::Kind::Float) return jitter_row<float>(bytes, seed);
    if (layout.lanes[0].type.kind == ElementType::Kind::Double) return jitter_row<double>(bytes, seed);
  }
  bool any = false;
  size_t count = bytes.size() / layout.stride;
  for (size_t index = 0; index < layout.lanes.size(); ++index) {
    const Lane& lane = layout.lanes[index];
    if (!lane.type.is_float()) continue;
    auto at = [&](size_t element) { return &bytes[element * layout.stride + lane.offset]; };
    auto denormal = [&](size_t i) {
      return judging::is_denormal(static_cast<judging::u32>(lane.type.kind), bits_of(lane.type, at(i)));
    };
    bool integers = false;
    for (size_t i = 0; i < count && !integers; ++i) integers = denormal(i);
    auto stays = [&](size_t i) { return integers && (denormal(i) || lane.type.real(at(i)) == 0); };
    for (size_t i = 0; i < count; ++i) {
      uint64_t random = draw(seed + index, i);
      if (kind == Perturbation::Jitter) {
        double value = lane.type.real(at(i));
        if (value == 0 || !std::isfinite(value) || stays(i)) continue;
        double larger = value * factor(lane.type.width == kNarrowWidth ? kNarrowMove : kMove, random);
        std::byte before[sizeof(double)];
        std::memcpy(before, at(i), lane.type.width);
        lane.type.set_real(at(i), larger);
        if (!std::isfinite(lane.type.real(at(i)))) std::memcpy(at(i), before, lane.type.width);
        any |= std::memcmp(before, at(i), lane.type.width) != 0;
      } else if (i + 1 < count && random % 2 && !stays(i) && !stays(i + 1)) {
        any |= std::memcmp(at(i), at(i + 1), lane.type.width) != 0;
        std::swap_ranges(at(i), at(i) + lane.type.width, at(i + 1));
        ++i;
      }
    }
  }
  return any;
}

}  // namespace kernelift::sandbox
