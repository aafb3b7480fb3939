// The arithmetic of comparisons, shared by device and host: one element against its reference, as comparator.h defines
// it, and the scale of a neighbourhood's numbers. clang compiles it for NVPTX into the runner's own kernels, and for
// the host's Comparator; hence no headers, no library calls, and fixed-size types only.
#pragma once
#include "sandbox/judge/veil_key.h"

#if defined(__CUDA__)
#define KL_BOTH __attribute__((host)) __attribute__((device)) inline
#else
#define KL_BOTH inline
#endif

namespace kernelift::sandbox::judging {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

/// In the order of ElementType::Kind.
enum Kind : u32 { kBytes, kSigned, kUnsigned, kBool, kHalf, kBfloat16, kFloat, kDouble };
constexpr u64 kNone = ~0ull;
constexpr u32 kNeighbourhoodBytes = 4096;

/// Comparison of one row of scalars: a buffer, or one field of its structs. Passed to kernels by value.
struct Task {
  u64 expected, got;  ///< Addresses of the first scalar.
  u64 count;          ///< Scalars.
  u64 into;           ///< Address of a Finding.
  u32 kind, width;
  u32 stride;                 ///< Bytes from one scalar to the next.
  u32 denormals, zero_signs;  ///< FloatTolerance's.
  double ulps, relative, absolute, envelope, typical;
  Veil veil;  ///< Of `expected`.
};

/// Result of a comparison; zero before it, with `first` and `address` kNone.
struct Finding {
  u64 mismatches;
  u64 first;             ///< Smallest index of an element out of tolerance.
  u64 worst;             ///< worst_key(), kept by an atomic maximum.
  u64 largest_ulps;      ///< As double bits.
  u64 largest_absolute;  ///< As double bits.
  u64 address;           ///< Smallest address of a broken canary.
  u64 changed;           ///< Elements that differ in any bit; NaN and NaN do not.
};

KL_BOTH double from_bits(u64 bits) {
  double value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
KL_BOTH u64 bits_of(double value) {
  u64 bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}
KL_BOTH float float_from_bits(u32 bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
KL_BOTH u32 bits_of_float(float value) {
  u32 bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// Buffers may begin at any address: unaligned scalars are assembled from bytes.
KL_BOTH u64 load(const u8* at, u32 width) {
  u64 address = reinterpret_cast<u64>(at);
  if (width == 4 && address % 4 == 0) return *reinterpret_cast<const u32*>(at);
  if (width == 8 && address % 8 == 0) return *reinterpret_cast<const u64*>(at);
  u64 value = 0;
  for (u32 i = 0; i < width; ++i) value |= static_cast<u64>(at[i]) << (8 * i);
  return value;
}

KL_BOTH double half_to_double(u32 half) {
  u32 exponent = (half >> 10) & 31, mantissa = half & 1023;
  u64 sign = static_cast<u64>(half >> 15) << 63;
  if (exponent == 31) return from_bits(sign | 0x7ff0000000000000ull | (static_cast<u64>(mantissa) << 42));
  if (exponent == 0) return (sign ? -0x1p-24 : 0x1p-24) * static_cast<double>(mantissa);
  return from_bits(sign | (static_cast<u64>(exponent + 1023 - 15) << 52) | (static_cast<u64>(mantissa) << 42));
}

KL_BOTH double real(u32 kind, u64 bits) {
  if (kind == kHalf) return half_to_double(static_cast<u32>(bits));
  if (kind == kBfloat16) return float_from_bits(static_cast<u32>(bits) << 16);
  if (kind == kFloat) return float_from_bits(static_cast<u32>(bits));
  return from_bits(bits);
}

/// Sign and magnitude to two's complement: neighbouring floats differ by one.
KL_BOTH i64 ordered(u64 bits, u32 width) {
  u64 sign = 1ull << (8 * width - 1);
  return bits & sign ? -static_cast<i64>(bits & (sign - 1)) : static_cast<i64>(bits);
}

KL_BOTH bool is_nan(double value) { return value != value; }
KL_BOTH bool is_finite(double value) { return value - value == 0; }
KL_BOTH double magnitude(double value) { return from_bits(bits_of(value) & ~(1ull << 63)); }

/// A nonzero value with a zero exponent: a denormal number, or an integer stored in memory of floats. Never true for
/// half, whose denormals are common results, and for bfloat16, in which integers are not stored.
KL_BOTH bool is_denormal(u32 kind, u64 bits) {
  if (kind == kFloat) return (bits & 0x7f800000u) == 0 && (bits & 0x7fffffu) != 0;
  return kind == kDouble && (bits & (0x7ffull << 52)) == 0 && (bits & ((1ull << 52) - 1)) != 0;
}

/// Order-independent statistics of a neighbourhood. A magnitude is a number's bits without the sign: ordered like the
/// numbers and growing like their logarithms, so that the mean of the bits is near the geometric mean.
struct Magnitudes {
  u64 top = 0, next = 0;               ///< The largest magnitude, and the largest below it.
  u64 tops = 0, count = 0, zeros = 0;  ///< Numbers equal to `top`; finite nonzero numbers; zeros.
  u64 sum = 0;                         ///< Of the logarithms of all but the largest.
};
/// A double's is shortened to 47 bits, so that the sum over a neighbourhood does not overflow.
KL_BOTH u64 logarithm(u32 width, u64 magnitude) { return width == 8 ? magnitude >> 16 : magnitude; }
KL_BOTH void merge(u32 width, Magnitudes& into, const Magnitudes& more) {
  const bool more_is_high = more.top > into.top;
  const Magnitudes high = more_is_high ? more : into, low = more_is_high ? into : more;
  const bool equal = high.top == low.top;
  const u64 below = equal ? low.next : low.top;
  into.top = high.top, into.next = high.next > below ? high.next : below;
  into.tops = high.tops + (equal ? low.tops : 0), into.count = high.count + low.count,
  into.zeros = high.zeros + low.zeros;
  into.sum = high.sum + low.sum + (equal ? 0 : low.tops * logarithm(width, low.top));
}
KL_BOTH void note(u32 kind, u32 width, u64 bits, Magnitudes& into) {
  u64 key = bits & ((1ull << (8 * width - 1)) - 1);
  if (!is_finite(real(kind, key))) return;
  Magnitudes one;
  if (key == 0) one.zeros = 1;
  else one.top = key, one.tops = one.count = 1;
  merge(width, into, one);
}

/// The largest magnitude without sentinels. A value that exceeds all others by more than the precision of its type is
/// taken for a sentinel, like FLT_MAX for "no distance yet".
KL_BOTH u64 largest_without_sentinel(u32 kind, const Magnitudes& all) {
  const double gap = kind == kDouble ? 0x1p60 : 0x1p32;  // 2^8 beyond the digits of double and float.
  return all.next > 0 && real(kind, all.top) / gap > real(kind, all.next) ? all.next : all.top;
}
/// A power of two that scales `largest` to about 1, so that squares do not overflow.
KL_BOTH double factor_for(double largest) {
  u64 exponent = bits_of(largest) >> 52;
  return from_bits((exponent >= 2045 ? 1 : exponent < 2 ? 2045 : 2046 - exponent) << 52);
}
/// The geometric mean without the largest value, which may be a sentinel of many elements.
KL_BOTH double typical_of(u32 kind, u32 width, const Magnitudes& all) {
  if (all.count == 0) return 0;
  if (all.count == all.tops) return real(kind, all.top);
  return real(kind, (all.sum / (all.count - all.tops)) << (width == 8 ? 16 : 0));
}

/// The scale of a neighbourhood's numbers; 0 if there are none.
struct Scale {
  double rms = 0;      ///< Root mean square without sentinels.
  double typical = 0;  ///< Geometric mean.
};
/// The second pass over a neighbourhood, for the root mean square.
struct Squares {
  u32 kind, width;
  u64 largest, count;
  double factor;

  KL_BOTH Squares(u32 kind, u32 width, const Magnitudes& all)
      : kind(kind), width(width), largest(largest_without_sentinel(kind, all)) {
    count = all.zeros + all.count - (largest < all.top ? all.tops : 0);
    factor = factor_for(real(kind, largest));
  }
  KL_BOTH double of(u64 bits) const {
    u64 key = bits & ((1ull << (8 * width - 1)) - 1);
    double value = key <= largest ? real(kind, key) * factor : 0;
    return value * value;
  }
  /// `root`: the square root of the mean of of(). EXPECTS: count > 0.
  KL_BOTH Scale scale(double root, const Magnitudes& all) const {
    return {root / factor, typical_of(kind, width, all)};
  }
};
/// The absolute difference that the envelope permits: the smaller of its two bounds.
KL_BOTH double allowed_by(const Task& task, const Scale& scale) {
  double by_rms = task.envelope * scale.rms, by_typical = task.typical * scale.typical;
  return by_typical < by_rms ? by_typical : by_rms;
}

struct Difference {
  bool mismatch = false;
  bool measured = false;  ///< Two finite floats: distance (in ULP) and absolute are valid.
  bool denormal = false;  ///< One of them is a denormal, perhaps an integer.
  bool changed = false;   ///< They differ in a bit, and are not both NaN.
  double distance = 0, absolute = 0;
};

/// `allowed`: allowed_by() for the neighbourhood.
KL_BOTH Difference compare(const Task& task, u64 want_bits, u64 have_bits, double allowed) {
  Difference difference;
  if (!(difference.changed = want_bits != have_bits)) return difference;
  u32 width = task.width;
  if (task.kind < kHalf) {
    difference.mismatch = true;
    if (task.kind == kSigned) {
      u32 shift = 64 - 8 * width;
      difference.distance = magnitude(static_cast<double>(static_cast<i64>(want_bits << shift) >> shift) -
                                      static_cast<double>(static_cast<i64>(have_bits << shift) >> shift));
    } else {
      difference.distance = static_cast<double>(want_bits > have_bits ? want_bits - have_bits : have_bits - want_bits);
    }
    return difference;
  }
  double want = real(task.kind, want_bits), have = real(task.kind, have_bits);
  if (is_nan(want) && is_nan(have)) return Difference();
  difference.mismatch = true, difference.distance = from_bits(0x7ff0000000000000ull);
  if (!is_finite(want) || !is_finite(have)) return difference;
  i64 a = ordered(want_bits, width), b = ordered(have_bits, width);
  // Magnitudes have at most 63 bits, so their difference fits in 64.
  u64 apart = a > b ? static_cast<u64>(a) - static_cast<u64>(b) : static_cast<u64>(b) - static_cast<u64>(a);
  difference.measured = true;
  difference.distance = static_cast<double>(apart);
  difference.absolute = magnitude(want - have);
  difference.mismatch = !(difference.distance <= task.ulps || difference.absolute <= task.absolute ||
                          difference.absolute <= allowed || difference.absolute <= task.relative * magnitude(want));
  difference.denormal = is_denormal(task.kind, want_bits) || is_denormal(task.kind, have_bits);
  difference.mismatch |= (difference.denormal && !task.denormals) || (want == 0 && have == 0 && task.zero_signs);
  return difference;
}

/// The absolute difference of an element that exceeds `task.ulps`; 0 for others.
KL_BOTH double beyond_ulps(const Task& task, const Difference& found) {
  return found.measured && found.distance > task.ulps && is_finite(found.absolute) ? found.absolute : 0;
}

/// Distance (as float bits, upper half) and neighbourhood in one number for an atomic maximum; never zero.
KL_BOTH u64 worst_key(double distance, u64 neighbourhood) {
  u32 bits = bits_of_float(static_cast<float>(distance > 3e38 ? 3e38 : distance));
  return (static_cast<u64>(bits + 1) << 32) | (neighbourhood & 0xffffffffull);
}

enum : u8 { kWritten = 1, kUntouched = 2 };  ///< What a run over a poisoned buffer shows of one element.
KL_BOTH u8 classify(const Task& task, u64 result, u64 now, u64 poison, double allowed) {
  const u8 written = compare(task, result, now, allowed).mismatch ? 0 : kWritten;
  return written | (now == poison ? kUntouched : 0);
}

}  // namespace kernelift::sandbox::judging
