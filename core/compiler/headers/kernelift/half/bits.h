// float to and from the two 16-bit formats, bit by bit, rounding to nearest even. For host code: what a C library or a
// compiler's runtime offers for these types differs by release, and results must not. double goes through a float whose
// last bit says whether anything was lost, so that the nearest 16-bit value of it is the double's own.
#pragma once

#define KL_BITS static __inline__ __host__ __device__
KL_BITS unsigned int kernelift_float_bits(float value) {
  unsigned int bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}
KL_BITS float kernelift_bits_float(unsigned int bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

KL_BITS float kernelift_half_bits_to_float(unsigned short half) {
  unsigned int sign = (unsigned int)(half & 0x8000u) << 16, exponent = (half >> 10) & 31u, fraction = half & 0x3ffu;
  if (exponent == 31) return kernelift_bits_float(sign | 0x7f800000u | (fraction << 13));
  if (exponent) return kernelift_bits_float(sign | ((exponent + 112) << 23) | (fraction << 13));
  // Zero and subnormals: fraction times 2^-24 is exact.
  float magnitude = (float)fraction * 5.9604644775390625e-8f;
  return sign ? -magnitude : magnitude;
}

KL_BITS unsigned short kernelift_float_to_half_bits(float value) {
  unsigned int bits = kernelift_float_bits(value), sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return (unsigned short)0x7fffu;            // NaN, as the hardware's.
  if (magnitude >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);  // Rounds beyond 65504.
  if (magnitude < 0x33000001u) return (unsigned short)sign;               // At most half the least.
  unsigned int exponent = magnitude >> 23, fraction = (magnitude & 0x7fffffu) | 0x800000u;
  unsigned int shift = exponent < 113 ? 126 - exponent : 13;  // Subnormal results lose more bits.
  unsigned int kept = fraction >> shift, rest = fraction & ((1u << shift) - 1), half = 1u << (shift - 1);
  if (rest > half || (rest == half && (kept & 1))) ++kept;
  // A carry out of the fraction moves the exponent on by itself.
  return (unsigned short)(sign | (exponent < 113 ? kept : ((exponent - 112) << 10) + (kept - 0x400u)));
}

KL_BITS float kernelift_bf16_bits_to_float(unsigned short bits) {
  return kernelift_bits_float((unsigned int)bits << 16);
}

KL_BITS unsigned short kernelift_float_to_bf16_bits(float value) {
  unsigned int bits = kernelift_float_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (unsigned short)0x7fffu;
  return (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

KL_BITS float kernelift_double_to_odd_float(double value) {
  float nearest = (float)value;
  double back = (double)nearest;
  unsigned int bits = kernelift_float_bits(nearest);
  if (value != value || back == value || (bits & 1)) return nearest;
  return kernelift_bits_float((value > 0 ? back < value : back > value) ? bits + 1 : bits - 1);
}

/// Of an integer with more bits than a double has, the lowest that it has says whether more are set.
template <class Integer>
KL_BITS double kernelift_integer_to_odd_double(Integer value) {
  const Integer most = (Integer)(1ull << 53), low = (Integer)0x7ff;
  const bool fits = sizeof(Integer) < 8 || (value < most && (value >= 0 || value > (Integer)-most));
  return (double)(fits ? value : (Integer)((value & (Integer)~low) | (value & low ? 0x800 : 0)));
}

/// As CUDA's host code: out of range saturates, and NaN is 0, but the sign bit alone in 64 bits.
template <class Integer>
KL_BITS Integer kernelift_saturated(float value) {
  const Integer sign = (Integer)((Integer)1 << (8 * sizeof(Integer) - 1));
  const bool is_signed = (Integer)-1 < (Integer)0;
  const Integer least = is_signed ? sign : (Integer)0, greatest = (Integer)~least;
  if (value != value) return sizeof(Integer) == 8 ? sign : (Integer)0;
  // The bound is rounded up to one past the greatest where float cannot hold it.
  return value >= (float)greatest ? greatest : value <= (float)least ? least : (Integer)value;
}
#undef KL_BITS
