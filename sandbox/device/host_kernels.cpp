// See host_kernels.h.
#include "sandbox/device/host_kernels.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "core/base/parallel.h"
#include "sandbox/device/device.h"
#include "sandbox/judge/judging.h"
#include "sandbox/judge/mixture.h"
#include "sandbox/judge/veil.h"

namespace kernelift::sandbox {
namespace {

using namespace judging;

const u8* at(u64 address) { return reinterpret_cast<const u8*>(address); }
u64 expected_at(const Task& task, u64 i) {
  return load_veiled(task.veil, at(task.expected + i * task.stride), task.width);
}
u64 got_at(const Task& task, u64 i) { return load(at(task.got + i * task.stride), task.width); }
Finding& finding(u64 address) { return *reinterpret_cast<Finding*>(address); }

void merge(Finding& into, const Finding& more) {
  into.mismatches += more.mismatches, into.changed += more.changed;
  into.first = std::min(into.first, more.first), into.worst = std::max(into.worst, more.worst);
  into.largest_ulps = std::max(into.largest_ulps, more.largest_ulps);
  into.largest_absolute = std::max(into.largest_absolute, more.largest_absolute);
}

/// Neighbourhoods whose expected and present bytes are equal need no arithmetic.
bool equal_bytes(const Task& task, u64 begin, u64 end) {
  if (task.veil.on) {
    for (u64 i = begin; i < end; ++i)
      if (expected_at(task, i) != got_at(task, i)) return false;
    return true;
  }
  u64 from = begin * task.stride, bytes = (end - begin - 1) * task.stride + task.width;
  return std::memcmp(at(task.expected + from), at(task.got + from), bytes) == 0;
}

u64 each_of(const Task& task) { return kNeighbourhoodBytes / task.width; }

bool of_floats(const Task& task) { return task.kind == kFloat && task.stride == sizeof(float) && !task.veil.on; }

u32 word_at(u64 address, u64 i) {
  u32 word;  // Buffers may begin at any address.
  std::memcpy(&word, at(address) + i * sizeof word, sizeof word);
  return word;
}

constexpr u32 kFloatMagnitude = 0x7fffffff, kFloatExponent = 0x7f800000, kLeastNormal = 0x00800000;

/// note() of a neighbourhood of floats, without a branch.
Magnitudes magnitudes_of_floats(const Task& task, u64 begin, u64 end) {
  Magnitudes all;
  u32 top = 0, next = 0, tops = 0, count = 0, zeros = 0;
  auto key_at = [&](u64 i) {
    const u32 key = word_at(task.expected, i) & kFloatMagnitude;
    return key < kFloatExponent ? key : 0;
  };
  for (u64 i = begin; i < end; ++i) {
    const u32 key = key_at(i);
    top = std::max(top, key), count += key != 0, all.sum += key;
    zeros += (word_at(task.expected, i) & kFloatMagnitude) == 0;
  }
  for (u64 i = begin; i < end && top > 0; ++i) {
    const u32 key = key_at(i);
    tops += key == top, next = std::max(next, key < top ? key : 0);
  }
  all.top = top, all.next = next, all.tops = tops, all.count = count, all.zeros = zeros;
  all.sum -= all.tops * all.top;
  return all;
}

Scale scale_of_neighbourhood(const Task& task, u64 begin, u64 end) {
  Magnitudes all;
  if (of_floats(task)) all = magnitudes_of_floats(task, begin, end);
  else
    for (u64 i = begin; i < end; ++i) note(task.kind, task.width, expected_at(task, i), all);
  Squares sizes(task.kind, task.width, all);
  if (sizes.count == 0) return {};
  double squares = 0;
  for (u64 i = begin; i < end; ++i) squares += sizes.of(expected_at(task, i));
  return sizes.scale(std::sqrt(squares / static_cast<double>(sizes.count)), all);
}

/// What differs between floats of a neighbourhood, if all that do are ordinary numbers.
struct FloatDifferences {
  bool ordinary = false;  ///< False: the rest is not valid.
  u64 changed = 0;
  u32 ulps = 0;         ///< The largest distance.
  double absolute = 0;  ///< The largest.
  double beyond = 0;    ///< The largest beyond_ulps().
  bool within = true;   ///< No mismatch.
};

/// compare() of a neighbourhood, without a branch.
FloatDifferences differences_of_floats(const Task& task, u64 begin, u64 end, double allowed) {
  FloatDifferences found;
  constexpr double kMostUlps = ~u32(0);
  if (!(task.ulps >= 0)) return found;
  const u32 ulps = static_cast<u32>(std::min(task.ulps, kMostUlps));
  const double absolute_limit = std::max(task.absolute, allowed), relative = task.relative;
  u32 special = 0, beyond = 0, farthest = 0, changed = 0;
  double largest = 0, largest_beyond = 0;
  for (u64 i = begin; i < end; ++i) {
    const u32 want = word_at(task.expected, i), have = word_at(task.got, i);
    const u32 a = want & kFloatMagnitude, b = have & kFloatMagnitude;
    const u32 differs = want != have;
    // Neither infinite nor NaN, nor denormal or zero.
    const u32 low = std::min(a, b), high = std::max(a, b);
    special |= differs & (u32(high >= kFloatExponent) | u32(low < kLeastNormal));
    const u32 apart = (want ^ have) >> 31 ? a + b : high - low;
    const double left = float_from_bits(want), right = float_from_bits(have);
    const double absolute = std::fabs(left - right);
    farthest = std::max(farthest, apart), changed += differs;
    largest = std::max(largest, absolute), largest_beyond = std::max(largest_beyond, apart > ulps ? absolute : 0.0);
    beyond |= u32(apart > ulps) & u32(!(absolute <= absolute_limit)) & u32(!(absolute <= relative * std::fabs(left)));
  }
  found.ordinary = special == 0, found.changed = changed, found.ulps = farthest;
  found.absolute = largest, found.beyond = largest_beyond, found.within = beyond == 0;
  return found;
}

void compare_part(const Task& task, u64 first, u64 last, Finding& found) {
  const u64 each = each_of(task);
  const bool floats = of_floats(task);
  for (u64 begin = first; begin < last; begin += each) {
    const u64 end = std::min(last, begin + each);
    if (equal_bytes(task, begin, end)) continue;
    const double allowed = task.envelope > 0 ? allowed_by(task, scale_of_neighbourhood(task, begin, end)) : 0;
    const FloatDifferences all = floats ? differences_of_floats(task, begin, end, allowed) : FloatDifferences{};
    if (all.ordinary && all.within) {
      found.changed += all.changed;
      found.largest_ulps = std::max(found.largest_ulps, bits_of(static_cast<double>(all.ulps)));
      found.largest_absolute = std::max(found.largest_absolute, bits_of(all.absolute));
      continue;
    }
    for (u64 i = begin; i < end; ++i) {
      Difference difference = compare(task, expected_at(task, i), got_at(task, i), allowed);
      if (difference.measured) {
        found.largest_ulps = std::max(found.largest_ulps, bits_of(difference.distance));
        found.largest_absolute = std::max(found.largest_absolute, bits_of(difference.absolute));
      }
      found.changed += difference.changed;
      if (!difference.mismatch) continue;
      ++found.mismatches, found.first = std::min(found.first, i);
      found.worst = std::max(found.worst, worst_key(difference.distance, i / each));
    }
  }
}

void spread_part(const Task& task, u64 first, u64 last, Finding& found) {
  const u64 each = each_of(task);
  const bool floats = of_floats(task);
  for (u64 begin = first; begin < last; begin += each) {
    const u64 end = std::min(last, begin + each);
    if (equal_bytes(task, begin, end)) continue;
    double largest = 0;
    const FloatDifferences all = floats ? differences_of_floats(task, begin, end, 0) : FloatDifferences{};
    if (all.ordinary) {
      largest = all.beyond, found.changed += all.changed;
    } else {
      for (u64 i = begin; i < end; ++i) {
        Difference moved = compare(task, expected_at(task, i), got_at(task, i), 0);
        largest = std::max(largest, beyond_ulps(task, moved)), found.mismatches += moved.denormal;
        found.changed += moved.changed;
      }
    }
    if (largest == 0) continue;
    Scale scale = scale_of_neighbourhood(task, begin, end);
    if (scale.rms > 0) found.largest_absolute = std::max(found.largest_absolute, bits_of(largest / scale.rms));
    if (scale.typical > 0) found.largest_ulps = std::max(found.largest_ulps, bits_of(largest / scale.typical));
  }
}

using Part = void (*)(const Task&, u64 first, u64 last, Finding&);

/// Has `part` look at all neighbourhoods, those of a large row on all cores: one core would take longer over them than
/// the launch that is judged.
void look_at_all(const Task& task, Part part) {
  constexpr u64 kPiece = 256;  // Neighbourhoods: 1 MiB.
  std::mutex mutex;
  (void)in_pieces(task.count, kPiece * each_of(task), [&](u64 first, u64 last) {
    Finding found{0, kNone, 0, 0, 0, kNone, 0};
    part(task, first, last, found);
    std::lock_guard lock(mutex);
    merge(finding(task.into), found);
    return done();
  });
}

bool filled_with(const u8* bytes, u64 count, u8 byte) {
  return count == 0 || (bytes[0] == byte && std::memcmp(bytes, bytes + 1, count - 1) == 0);
}

constexpr size_t kTask = sizeof(Task);

void check_canary(const PackedArguments& arguments) {
  u64 begin = arguments.at<u64>(0), bytes = arguments.at<u64>(8);
  auto byte = static_cast<u8>(arguments.at<u32>(16));
  if (filled_with(at(begin), bytes, byte)) return;
  Finding& found = finding(arguments.at<u64>(24));
  const u8* broken = std::find_if(at(begin), at(begin + bytes), [&](u8 one) { return one != byte; });
  found.address = std::min(found.address, reinterpret_cast<u64>(broken));
}

void poison(const PackedArguments& arguments) {
  auto task = arguments.at<Task>(0);
  const u8 *states = at(arguments.at<u64>(kTask)), *end = states + task.count;
  int byte = static_cast<int>(arguments.at<u32>(kTask + 8));
  for (const u8* state = states; state != end; ++state) {
    state = static_cast<const u8*>(std::memchr(state, kWritten, static_cast<size_t>(end - state)));
    if (!state) return;
    u64 i = static_cast<u64>(state - states);
    std::memset(reinterpret_cast<void*>(task.got + i * task.stride), byte, task.width);
  }
}

void copy_written(const PackedArguments& arguments) {
  auto task = arguments.at<Task>(0);
  const u8* states = at(arguments.at<u64>(kTask));
  for (u64 i = 0; i < task.count; ++i)
    if (states[i] == kWritten)
      store(reinterpret_cast<u8*>(task.got + i * task.stride), task.width, expected_at(task, i));
}

void classify_all(const PackedArguments& arguments) {
  auto task = arguments.at<Task>(0);
  auto* states = reinterpret_cast<u8*>(arguments.at<u64>(kTask));
  auto byte = static_cast<u8>(arguments.at<u32>(kTask + 8));
  u64 pattern = 0x0101010101010101ull * byte;
  if (task.width < 8) pattern &= (1ull << (8 * task.width)) - 1;
  for (u64 begin = 0, each = each_of(task); begin < task.count; begin += each) {
    u64 end = std::min(task.count, begin + each);
    if (task.stride == task.width) {
      // A launch may write only a few elements of a large buffer: most ranges are entirely equal or entirely poison.
      const u8* now = at(task.got + begin * task.width);
      bool same = equal_bytes(task, begin, end), untouched = filled_with(now, (end - begin) * task.width, byte);
      if (same != untouched && !std::memchr(at(task.expected + begin * task.width), byte, (end - begin) * task.width)) {
        for (u64 i = begin; i < end; ++i)
          finding(task.into).mismatches += (states[i] &= same ? kWritten : kUntouched) == 0;
        continue;
      }
    }
    for (u64 i = begin; i < end; ++i) {
      // One element is its own neighbourhood.
      double size = task.kind >= kHalf ? magnitude(real(task.kind, expected_at(task, i))) : 0;
      double allowed = size > 0 ? allowed_by(task, {size, size}) : 0;
      states[i] &= classify(task, expected_at(task, i), got_at(task, i), pattern, allowed);
      finding(task.into).mismatches += states[i] == 0;
    }
  }
}

void count_uncovered(const PackedArguments& arguments) {
  auto task = arguments.at<Task>(0);
  const u8* states = at(arguments.at<u64>(kTask));
  Finding& found = finding(task.into);
  for (u64 begin = 0, each = each_of(task); begin < task.count; begin += each) {
    u64 end = std::min(task.count, begin + each);
    u64 known = static_cast<u64>(std::count(states + begin, states + end, u8(kWritten)));
    found.largest_ulps += known;
    if (known == end - begin || equal_bytes(task, begin, end)) continue;
    for (u64 i = begin; i < end; ++i)
      found.mismatches += states[i] != kWritten && expected_at(task, i) != got_at(task, i);
  }
}

void copy_ranges(const PackedArguments& arguments) {
  auto* ranges = reinterpret_cast<const DeviceRange*>(arguments.at<u64>(0));
  for (u64 i = 0; i < arguments.at<u64>(8); ++i)
    std::memcpy(reinterpret_cast<void*>(ranges[i].to), reinterpret_cast<const void*>(ranges[i].from), ranges[i].bytes);
}

void copy(const PackedArguments& arguments) {
  std::memcpy(reinterpret_cast<void*>(arguments.at<u64>(0)), reinterpret_cast<const void*>(arguments.at<u64>(8)),
              arguments.at<u64>(16));
}

/// Element by element, with a bit of `bits` each.
template <class T>
void mix_group(u64 to, u64 a, u64 b, u64 count, u64 bits) {
  constexpr u64 kLanes = sizeof(T) < sizeof(u32) ? 8 : 4;
  typedef T Lanes __attribute__((vector_size(kLanes * sizeof(T))));
  Lanes of_lane;
  for (u64 lane = 0; lane < kLanes; ++lane) of_lane[lane] = static_cast<T>(T{1} << lane);
  u64 i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Lanes one, other;  // Buffers may begin at any address.
    std::memcpy(&one, at(a) + i * sizeof(T), sizeof one), std::memcpy(&other, at(b) + i * sizeof(T), sizeof other);
    const auto mask = (Lanes)(((Lanes{} + static_cast<T>(bits >> i)) & of_lane) == of_lane);
    const Lanes chosen = (one & ~mask) | (other & mask);
    std::memcpy(reinterpret_cast<void*>(to + i * sizeof(T)), &chosen, sizeof chosen);
  }
  for (; i < count; ++i)
    std::memcpy(reinterpret_cast<void*>(to + i * sizeof(T)), at(bits >> i & 1 ? b : a) + i * sizeof(T), sizeof(T));
}

/// The same of elements of other sizes.
void mix_group(u64 to, u64 a, u64 b, u64 count, u64 bits, u64 stride) {
  for (u64 i = 0; i < count; ++i)
    std::memcpy(reinterpret_cast<void*>(to + i * stride), at(bits >> i & 1 ? b : a) + i * stride, stride);
}

void mix(const PackedArguments& arguments) {
  constexpr u64 kGroup = 64;
  const u64 to = arguments.at<u64>(0), a = arguments.at<u64>(8), b = arguments.at<u64>(16);
  const u64 bytes = arguments.at<u64>(24), stride = arguments.at<u64>(32), seed = arguments.at<u64>(40);
  const u64 count = bytes / stride;
  for (u64 begin = 0; begin < count; begin += kGroup) {
    const u64 here = std::min(kGroup, count - begin), bits = draw_bits(seed, begin / kGroup), at = begin * stride;
    switch (stride) {
      case sizeof(uint8_t): mix_group<uint8_t>(to + at, a + at, b + at, here, bits); break;
      case sizeof(uint16_t): mix_group<uint16_t>(to + at, a + at, b + at, here, bits); break;
      case sizeof(u32): mix_group<u32>(to + at, a + at, b + at, here, bits); break;
      case sizeof(u64): mix_group<u64>(to + at, a + at, b + at, here, bits); break;
      default: mix_group(to + at, a + at, b + at, here, bits, stride);
    }
  }
  std::memcpy(reinterpret_cast<void*>(to + count * stride), reinterpret_cast<const void*>(a + count * stride),
              bytes - count * stride);
}

void veil(const PackedArguments& arguments) {
  const u64 to = arguments.at<u64>(0), from = arguments.at<u64>(8), veiled = arguments.at<u64>(16);
  const u64 bytes = arguments.at<u64>(24);
  const auto key = arguments.at<Veil>(32);
  for (u64 offset = 0; offset < bytes; offset += 8)
    copy_veiled(key, to, from, veiled, offset, static_cast<u32>(std::min<u64>(8, bytes - offset)));
}

void write(const PackedArguments& arguments) {
  auto* to = reinterpret_cast<void*>(arguments.at<u64>(0));
  std::memset(to, 1, arguments.at<u64>(8));
  asm volatile("" ::"r"(to) : "memory");
}

void nothing(const PackedArguments&) {}

}  // namespace

std::span<const HostKernel> host_kernels() {
  static constexpr HostKernel kKernels[] = {
      {"kl_compare", [](const PackedArguments& arguments) { look_at_all(arguments.at<Task>(0), compare_part); }},
      {"kl_spread", [](const PackedArguments& arguments) { look_at_all(arguments.at<Task>(0), spread_part); }},
      {"kl_check_canary", check_canary},
      {"kl_poison", poison},
      {"kl_copy_written", copy_written},
      {"kl_classify", classify_all},
      {"kl_uncovered", count_uncovered},
      {"kl_copy_ranges", copy_ranges},
      {"kl_copy", copy},
      {"kl_mix", mix},
      {"kl_veil", veil},
      {"kl_flush", nothing},
      {"kl_hold", nothing},
      {"kl_write", write},
      {"kl_nothing", nothing},
  };
  return kKernels;
}

}  // namespace kernelift::sandbox
