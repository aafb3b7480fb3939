// bfloat16, in host and device code: the type, its pair, conversions and arithmetic, by clang's __bf16 on the device
// and bit by bit on the host.
#pragma once
#include "cuda_runtime.h"
#include "kernelift/half/bits.h"

#define KL_T __nv_bfloat16
#define KL_T2 __nv_bfloat162
#define KL_RAW __nv_bfloat16_raw
#define KL_RAW2 __nv_bfloat162_raw
#define KL_NATIVE __bf16
#define KL_TO_FLOAT kernelift_bf16_bits_to_float
#define KL_FROM_FLOAT kernelift_float_to_bf16_bits
#include "kernelift/half/type.h"
#include "kernelift/half/operations.h"
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define KL_FN static __inline__ __attribute__((always_inline)) __host__ __device__
KL_FN __nv_bfloat16 __float2bfloat16(const float f) { return __nv_bfloat16(f); }
KL_FN __nv_bfloat16 __float2bfloat16_rn(const float f) { return __nv_bfloat16(f); }
KL_FN __nv_bfloat16 __double2bfloat16(const double f) { return __nv_bfloat16(f); }
KL_FN float __bfloat162float(const __nv_bfloat16 h) { return (float)h; }
// Directed roundings: the nearest value, moved by one unit where it lies on the wrong side.
KL_FN __nv_bfloat16 kernelift_toward(const __nv_bfloat16 nearest, float f, bool up, bool down) {
  float n = (float)nearest;
  if (n != n || n == f) return nearest;
  // A magnitude's next value is its bits' next; through zero the sign changes.
  if (n > f && down)
    return __nv_bfloat16::from_bits((unsigned short)(nearest.__x == 0 ? 0x8001u
                                                     : n > 0          ? nearest.__x - 1
                                                                      : nearest.__x + 1));
  if (n < f && up)
    return __nv_bfloat16::from_bits((unsigned short)(n < 0                          ? nearest.__x - 1
                                                     : (nearest.__x & 0x7fffu) == 0 ? 1
                                                                                    : nearest.__x + 1));
  return nearest;
}
KL_FN __nv_bfloat16 __float2bfloat16_rz(const float f) { return kernelift_toward(__nv_bfloat16(f), f, f < 0, f > 0); }
KL_FN __nv_bfloat16 __float2bfloat16_rd(const float f) { return kernelift_toward(__nv_bfloat16(f), f, false, true); }
KL_FN __nv_bfloat16 __float2bfloat16_ru(const float f) { return kernelift_toward(__nv_bfloat16(f), f, true, false); }
KL_FN __nv_bfloat162 __float2bfloat162_rn(const float f) { return __nv_bfloat162(__nv_bfloat16(f), __nv_bfloat16(f)); }
KL_FN __nv_bfloat162 __floats2bfloat162_rn(const float a, const float b) {
  return __nv_bfloat162(__nv_bfloat16(a), __nv_bfloat16(b));
}
KL_FN __nv_bfloat162 __float22bfloat162_rn(const float2 f) {
  return __nv_bfloat162(__nv_bfloat16(f.x), __nv_bfloat16(f.y));
}
KL_FN float2 __bfloat1622float2(const __nv_bfloat162 h) { return make_float2((float)h.x, (float)h.y); }
KL_FN float __low2float(const __nv_bfloat162 h) { return (float)h.x; }
KL_FN float __high2float(const __nv_bfloat162 h) { return (float)h.y; }
KL_FN __nv_bfloat16 __low2bfloat16(const __nv_bfloat162 h) { return h.x; }
KL_FN __nv_bfloat16 __high2bfloat16(const __nv_bfloat162 h) { return h.y; }
KL_FN __nv_bfloat162 __low2bfloat162(const __nv_bfloat162 h) { return __nv_bfloat162(h.x, h.x); }
KL_FN __nv_bfloat162 __high2bfloat162(const __nv_bfloat162 h) { return __nv_bfloat162(h.y, h.y); }
KL_FN __nv_bfloat162 __bfloat162bfloat162(const __nv_bfloat16 h) { return __nv_bfloat162(h, h); }
KL_FN __nv_bfloat162 __halves2bfloat162(const __nv_bfloat16 a, const __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
KL_FN __nv_bfloat162 __lowhigh2highlow(const __nv_bfloat162 h) { return __nv_bfloat162(h.y, h.x); }
KL_FN __nv_bfloat162 __lows2bfloat162(const __nv_bfloat162 a, const __nv_bfloat162 b) {
  return __nv_bfloat162(a.x, b.x);
}
KL_FN __nv_bfloat162 __highs2bfloat162(const __nv_bfloat162 a, const __nv_bfloat162 b) {
  return __nv_bfloat162(a.y, b.y);
}
KL_FN __nv_bfloat162 make_bfloat162(const __nv_bfloat16 a, const __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
KL_FN short __bfloat16_as_short(const __nv_bfloat16 h) { return (short)h.__x; }
KL_FN unsigned short __bfloat16_as_ushort(const __nv_bfloat16 h) { return h.__x; }
KL_FN __nv_bfloat16 __short_as_bfloat16(const short bits) { return __nv_bfloat16::from_bits((unsigned short)bits); }
KL_FN __nv_bfloat16 __ushort_as_bfloat16(const unsigned short bits) { return __nv_bfloat16::from_bits(bits); }
#if defined(__CUDA_ARCH__)
#define KL_ROUNDED(name, type, mode, ptx, letter, host)                           \
  KL_FN type name(const __nv_bfloat16 h) {                                        \
    type result;                                                                  \
    asm("cvt." mode "." ptx ".f32 %0, %1;" : "=" letter(result) : "f"((float)h)); \
    return result;                                                                \
  }
#else
#define KL_ROUNDED(name, type, mode, ptx, letter, host) \
  KL_FN type name(const __nv_bfloat16 h) { return host(h).to_integer<type>(); }
#endif
#define KL_INTEGER(word, type, ptx, letter)                                                 \
  KL_FN __nv_bfloat16 __##word##2bfloat16_rn(const type v) { return __nv_bfloat16(v); }     \
  KL_FN type __bfloat162##word##_rz(const __nv_bfloat16 h) { return h.to_integer<type>(); } \
  KL_ROUNDED(__bfloat162##word##_rn, type, "rni", ptx, letter, hrint)                       \
  KL_ROUNDED(__bfloat162##word##_rd, type, "rmi", ptx, letter, hfloor)                      \
  KL_ROUNDED(__bfloat162##word##_ru, type, "rpi", ptx, letter, hceil)
KL_INTEGER(int, int, "s32", "r")
KL_INTEGER(uint, unsigned int, "u32", "r")
KL_INTEGER(short, short, "s16", "h")
KL_INTEGER(ushort, unsigned short, "u16", "h")
KL_INTEGER(ll, long long, "s64", "l")
KL_INTEGER(ull, unsigned long long, "u64", "l")
#undef KL_ROUNDED
#undef KL_INTEGER
#undef KL_FN
#undef KL_T
#undef KL_T2
#undef KL_RAW
#undef KL_RAW2
#undef KL_NATIVE
#undef KL_TO_FLOAT
#undef KL_FROM_FLOAT
