// Half precision, in host and device code: the type, its pair, conversions and arithmetic, by clang's _Float16 on the
// device and bit by bit on the host.
#pragma once
#include "cuda_runtime.h"
#include "kernelift/half/bits.h"

#define KL_T __half
#define KL_T2 __half2
#define KL_RAW __half_raw
#define KL_RAW2 __half2_raw
#define KL_NATIVE _Float16
#define KL_TO_FLOAT kernelift_half_bits_to_float
#define KL_FROM_FLOAT kernelift_float_to_half_bits
#include "kernelift/half/type.h"
#include "kernelift/half/operations.h"
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;

#define KL_FN static __inline__ __attribute__((always_inline)) __host__ __device__
KL_FN __half __float2half(const float f) { return __half(f); }
KL_FN __half __float2half_rn(const float f) { return __half(f); }
KL_FN __half __double2half(const double f) { return __half(f); }
KL_FN float __half2float(const __half h) { return (float)h; }
// Directed roundings: the nearest value, moved by one unit where it lies on the wrong side.
KL_FN __half kernelift_toward(const __half nearest, float f, bool up, bool down) {
  float n = (float)nearest;
  if (n != n || n == f) return nearest;
  // A magnitude's next value is its bits' next; through zero the sign changes.
  if (n > f && down)
    return __half::from_bits((unsigned short)(nearest.__x == 0 ? 0x8001u : n > 0 ? nearest.__x - 1 : nearest.__x + 1));
  if (n < f && up)
    return __half::from_bits((unsigned short)(n < 0                          ? nearest.__x - 1
                                              : (nearest.__x & 0x7fffu) == 0 ? 1
                                                                             : nearest.__x + 1));
  return nearest;
}
KL_FN __half __float2half_rz(const float f) { return kernelift_toward(__half(f), f, f < 0, f > 0); }
KL_FN __half __float2half_rd(const float f) { return kernelift_toward(__half(f), f, false, true); }
KL_FN __half __float2half_ru(const float f) { return kernelift_toward(__half(f), f, true, false); }
KL_FN __half2 __float2half2_rn(const float f) { return __half2(__half(f), __half(f)); }
KL_FN __half2 __floats2half2_rn(const float a, const float b) { return __half2(__half(a), __half(b)); }
KL_FN __half2 __float22half2_rn(const float2 f) { return __half2(__half(f.x), __half(f.y)); }
KL_FN float2 __half22float2(const __half2 h) { return make_float2((float)h.x, (float)h.y); }
KL_FN float __low2float(const __half2 h) { return (float)h.x; }
KL_FN float __high2float(const __half2 h) { return (float)h.y; }
KL_FN __half __low2half(const __half2 h) { return h.x; }
KL_FN __half __high2half(const __half2 h) { return h.y; }
KL_FN __half2 __low2half2(const __half2 h) { return __half2(h.x, h.x); }
KL_FN __half2 __high2half2(const __half2 h) { return __half2(h.y, h.y); }
KL_FN __half2 __half2half2(const __half h) { return __half2(h, h); }
KL_FN __half2 __halves2half2(const __half a, const __half b) { return __half2(a, b); }
KL_FN __half2 __lowhigh2highlow(const __half2 h) { return __half2(h.y, h.x); }
KL_FN __half2 __lows2half2(const __half2 a, const __half2 b) { return __half2(a.x, b.x); }
KL_FN __half2 __highs2half2(const __half2 a, const __half2 b) { return __half2(a.y, b.y); }
KL_FN __half2 make_half2(const __half a, const __half b) { return __half2(a, b); }
KL_FN short __half_as_short(const __half h) { return (short)h.__x; }
KL_FN unsigned short __half_as_ushort(const __half h) { return h.__x; }
KL_FN __half __short_as_half(const short bits) { return __half::from_bits((unsigned short)bits); }
KL_FN __half __ushort_as_half(const unsigned short bits) { return __half::from_bits(bits); }
#define KL_INTEGER(word, type)                                                           \
  KL_FN __half __##word##2half_rn(const type v) { return __half(v); }                    \
  KL_FN type __half2##word##_rn(const __half h) { return hrint(h).to_integer<type>(); }  \
  KL_FN type __half2##word##_rz(const __half h) { return h.to_integer<type>(); }         \
  KL_FN type __half2##word##_rd(const __half h) { return hfloor(h).to_integer<type>(); } \
  KL_FN type __half2##word##_ru(const __half h) { return hceil(h).to_integer<type>(); }
KL_INTEGER(int, int)
KL_INTEGER(uint, unsigned int)
KL_INTEGER(short, short)
KL_INTEGER(ushort, unsigned short)
KL_INTEGER(ll, long long)
KL_INTEGER(ull, unsigned long long)
#undef KL_INTEGER
#undef KL_FN
#undef KL_T
#undef KL_T2
#undef KL_RAW
#undef KL_RAW2
#undef KL_NATIVE
#undef KL_TO_FLOAT
#undef KL_FROM_FLOAT
