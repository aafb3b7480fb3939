// The judge's arithmetic as it runs on a GPU: one element of one buffer against its reference, with the meaning that
// sandbox/judge/comparator gives it (NaN equals NaN, -0 equals +0, ULP counted in the reference's spacing, envelopes by
// neighbourhood). Compiled twice: by clang for NVPTX into support.ptx, and for the host, where a test holds it against
// the Comparator. So: no headers, no library calls, fixed-size types only.
#pragma once

#if defined(__CUDA__)
#define KL_BOTH __attribute__((host)) __attribute__((device)) inline
#else
#define KL_BOTH inline
#endif

namespace kernelift::judging {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

/// In the order of ElementType::Kind.
enum Kind : u32 { kBytes, kSigned, kUnsigned, kBool, kHalf, kBfloat16, kFloat, kDouble };

constexpr u64 kNone = ~0ull;
constexpr u32 kNeighbourhoodBytes = 4096;

/// How one row of scalars is to be compared: a buffer, or one field of its structs. Passed to the kernel by value.
struct Task {
  u64 expected, got;  ///< Addresses of the first scalar.
  u64 count;          ///< Scalars.
  u64 into;           ///< Address of a Finding.
  u32 kind, width;
  u32 stride, unused;  ///< Bytes from one scalar to the next.
  double ulps, relative, absolute, envelope;
};

/// What was found; zeroed, with `first` and `address` at kNone, before the comparison.
struct Finding {
  u64 mismatches;
  u64 first;             ///< Smallest index of an element out of tolerance.
  u64 worst;             ///< Distance as float bits above, neighbourhood below: one atomic maximum.
  u64 largest_ulps;      ///< As double bits.
  u64 largest_absolute;  ///< As double bits.
  u64 address;           ///< Smallest address of a broken canary.
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

/// Buffers begin anywhere: bytes are put together one by one where they are not aligned.
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
  if (exponent == 0) {
    double magnitude = static_cast<double>(mantissa) * 0x1p-24;
    return sign ? -magnitude : magnitude;
  }
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

/// Squares have half the range that numbers have: by what the numbers are multiplied where a sum of their squares has come
/// out too small to have kept its digits, or infinite; 1 where it has not.
KL_BOTH double factor_for(double squares) {
  constexpr double kSmallest = 1e-280;
  return squares < kSmallest ? 0x1p600 : is_finite(squares) ? 1 : 0x1p-600;
}
KL_BOTH double magnitude(double value) { return from_bits(bits_of(value) & ~(1ull << 63)); }

struct Difference {
  bool mismatch = false;
  bool measured = false;  ///< Two finite floats: ulps and absolute count.
  double distance = 0, absolute = 0;
};

/// `allowed`: the envelope's share of the neighbourhood's scale.
KL_BOTH Difference compare(const Task& task, u64 want_bits, u64 have_bits, double allowed) {
  Difference difference;
  if (want_bits == have_bits) return difference;
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
  if (is_nan(want) && is_nan(have)) return difference;
  if (!is_finite(want) || !is_finite(have)) {
    difference.mismatch = true;
    difference.distance = from_bits(0x7ff0000000000000ull);
    return difference;
  }
  i64 a = ordered(want_bits, width), b = ordered(have_bits, width);
  // Magnitudes have 63 bits at most: their difference fits in 64 unsigned ones.
  u64 apart = a > b ? static_cast<u64>(a) - static_cast<u64>(b) : static_cast<u64>(b) - static_cast<u64>(a);
  difference.measured = true;
  difference.distance = static_cast<double>(apart);
  difference.absolute = magnitude(want - have);
  difference.mismatch = !(difference.distance <= task.ulps || difference.absolute <= task.absolute ||
                          difference.absolute <= allowed || difference.absolute <= task.relative * magnitude(want));
  return difference;
}

/// Worst distance and its neighbourhood in one number that an atomic maximum keeps. A mismatch is never zero.
KL_BOTH u64 worst_key(double distance, u64 neighbourhood) {
  constexpr double kLargest = 3e38;
  u32 bits = bits_of_float(static_cast<float>(distance > kLargest ? kLargest : distance));
  return (static_cast<u64>(bits + 1) << 32) | (neighbourhood & 0xffffffffull);
}

/// What poisoning a buffer taught of one element.
enum : u8 { kWritten = 1, kUntouched = 2 };
KL_BOTH u8 classify(const Task& task, u64 result, u64 now, u64 poison, double allowed) {
  u8 seen = 0;
  if (!compare(task, result, now, allowed).mismatch) seen |= kWritten;
  if (now == poison) seen |= kUntouched;
  return seen;
}

}  // namespace kernelift::judging
