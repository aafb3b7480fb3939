// See perturbation.h.
#include "sandbox/judge/perturbation.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "core/base/parallel.h"

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

/// Elements that one thread changes at a time. Neighbours in two pieces are not exchanged, so that what is made does
/// not depend on the number of threads.
constexpr size_t kPiece = 1 << 16;

/// Calls change(begin, end) for all pieces of `count` elements, on all cores; true if any call returned true.
template <class Change>
bool any_piece(size_t count, const Change& change) {
  std::atomic<bool> any = false;
  (void)in_pieces(count, kPiece, [&](size_t begin, size_t end) {
    if (change(begin, end)) any = true;
    return done();
  });
  return any;
}

/// A faster loop for plain arrays of float or double, which are most of the recorded memory.
template <class T>
bool jitter_row(std::span<std::byte> bytes, uint64_t seed) {
  return any_piece(bytes.size() / sizeof(T), [&](size_t begin, size_t end) {
    bool any = false;
    for (size_t i = begin; i < end; ++i) {
      T value;
      std::memcpy(&value, &bytes[i * sizeof(T)], sizeof(T));
      T larger = static_cast<T>(value * factor(kMove, draw(seed, i)));
      if (!std::isfinite(larger) || larger == value || !std::isnormal(value)) continue;
      std::memcpy(&bytes[i * sizeof(T)], &larger, sizeof(T));
      any = true;
    }
    return any;
  });
}

/// One lane of elements of any type.
class LaneChange {
 public:
  LaneChange(const ElementLayout& layout, const Lane& lane, std::span<std::byte> bytes)
      : type_(lane.type), stride_(layout.stride), first_(bytes.data() + lane.offset), count_(bytes.size() / stride_) {}

  bool jitter(uint64_t seed) const {
    const double most = type_.width == kNarrowWidth ? kNarrowMove : kMove;
    const bool integers = holds_integers();
    return any_piece(count_, [&](size_t begin, size_t end) {
      bool any = false;
      for (size_t i = begin; i < end; ++i) {
        const double value = type_.real(at(i));
        if (value == 0 || !std::isfinite(value) || (integers && stays(i))) continue;
        std::byte before[sizeof(double)];
        std::memcpy(before, at(i), type_.width);
        type_.set_real(at(i), value * factor(most, draw(seed, i)));
        if (!std::isfinite(type_.real(at(i)))) std::memcpy(at(i), before, type_.width);
        any |= std::memcmp(before, at(i), type_.width) != 0;
      }
      return any;
    });
  }

  bool round_otherwise(double units, uint64_t seed) const {
    const double unit = type_.width == sizeof(float) ? 0x1p-23 : 0x1p-52;
    return any_piece(count_, [&](size_t begin, size_t end) {
      bool any = false;
      for (size_t i = begin; i < end; ++i) {
        const double value = type_.real(at(i));
        if (value == 0 || !std::isfinite(value) || denormal(i)) continue;
        const double share = 2 * static_cast<double>(draw(seed, i) >> 11) * 0x1p-53 - 1,
                     moved = value * (1 + share * units * unit);
        type_.set_real(at(i), moved);
        any |= type_.real(at(i)) != value;
      }
      return any;
    });
  }

  bool all_zero() const {
    return !any_element([&](size_t i) { return type_.real(at(i)) != 0; });
  }

  void fill(uint64_t seed) const {
    any_piece(count_, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) type_.set_real(at(i), factor(1, draw(seed, i)) - 1);
      return true;
    });
  }

  bool swap_neighbours(uint64_t seed) const {
    const bool integers = holds_integers();
    return any_piece(count_, [&](size_t begin, size_t end) {
      bool any = false;
      for (size_t i = begin; i + 1 < end; ++i) {
        if (draw(seed, i) % 2 == 0 || (integers && (stays(i) || stays(i + 1)))) continue;
        any |= std::memcmp(at(i), at(i + 1), type_.width) != 0;
        std::swap_ranges(at(i), at(i) + type_.width, at(i + 1));
        ++i;
      }
      return any;
    });
  }

 private:
  std::byte* at(size_t element) const { return first_ + element * stride_; }
  bool denormal(size_t i) const {
    return judging::is_denormal(static_cast<judging::u32>(type_.kind), bits_of(type_, at(i)));
  }
  /// Whether holds(i) for an element; each piece is read to the first such one.
  template <class Holds>
  bool any_element(const Holds& holds) const {
    return any_piece(count_, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i)
        if (holds(i)) return true;
      return false;
    });
  }
  /// Where some values are denormal, these and zeros may be integers.
  bool holds_integers() const {
    return any_element([&](size_t i) { return denormal(i); });
  }
  bool stays(size_t i) const { return denormal(i) || type_.real(at(i)) == 0; }

  const ElementType type_;
  const size_t stride_;
  std::byte* const first_;
  const size_t count_;
};

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
  for (size_t index = 0; index < layout.lanes.size(); ++index) {
    if (!layout.lanes[index].type.is_float()) continue;
    const LaneChange lane(layout, layout.lanes[index], bytes);
    any |= kind == Perturbation::Jitter ? lane.jitter(seed + index) : lane.swap_neighbours(seed + index);
  }
  return any;
}

bool round_otherwise(const ElementLayout& layout, std::span<std::byte> bytes, double units, uint64_t seed) {
  bool any = false;
  for (size_t index = 0; index < layout.lanes.size(); ++index)
    if (const ElementType& type = layout.lanes[index].type; type.is_float() && type.width >= sizeof(float))
      any |= LaneChange(layout, layout.lanes[index], bytes).round_otherwise(units, seed + index);
  return any;
}

bool fill_zeros(const ElementLayout& layout, std::span<std::byte> bytes, uint64_t seed) {
  bool any = false;
  for (size_t index = 0; index < layout.lanes.size(); ++index) {
    if (!layout.lanes[index].type.is_float()) continue;
    const LaneChange lane(layout, layout.lanes[index], bytes);
    if (!lane.all_zero()) continue;
    lane.fill(seed + index);
    any = true;
  }
  return any;
}

}  // namespace kernelift::sandbox
