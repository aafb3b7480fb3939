// Arithmetic with an explicit rounding mode. To nearest is plain arithmetic that may not be contracted; the other modes
// set MXCSR around one operation. The operations are written in assembly so that none can move out of the bracket.
#pragma once
enum { kNearest = 0x1f80, kDown = 0x3f80, kUp = 0x5f80, kZero = 0x7f80 };

static inline void set_rounding(u32 mode) { __asm__ volatile("ldmxcsr %0" : : "m"(mode) : "memory"); }

#define KL_BINARY_ROUNDED(op, sse, letter, type, mode, direction) \
  type __nv_##letter##op##_##direction(type x, type y) {          \
    set_rounding(mode);                                           \
    __asm__ volatile(#sse " %1, %0" : "+x"(x) : "x"(y));          \
    set_rounding(kNearest);                                       \
    return x;                                                     \
  }
#define KL_UNARY_ROUNDED(op, sse, letter, type, mode, direction) \
  type __nv_##letter##op##_##direction(type x) {                 \
    type result;                                                 \
    set_rounding(mode);                                          \
    __asm__ volatile(#sse " %1, %0" : "=x"(result) : "x"(x));    \
    set_rounding(kNearest);                                      \
    return result;                                               \
  }
#define KL_EACH_MODE(kind, op, sse, letter, type) \
  kind(op, sse, letter, type, kZero, rz) kind(op, sse, letter, type, kDown, rd) kind(op, sse, letter, type, kUp, ru)
KL_EACH_MODE(KL_BINARY_ROUNDED, add, addss, f, f32)
KL_EACH_MODE(KL_BINARY_ROUNDED, sub, subss, f, f32)
KL_EACH_MODE(KL_BINARY_ROUNDED, mul, mulss, f, f32)
KL_EACH_MODE(KL_BINARY_ROUNDED, div, divss, f, f32)
KL_EACH_MODE(KL_UNARY_ROUNDED, sqrt, sqrtss, f, f32)
KL_EACH_MODE(KL_BINARY_ROUNDED, add, addsd, d, f64)
KL_EACH_MODE(KL_BINARY_ROUNDED, sub, subsd, d, f64)
KL_EACH_MODE(KL_BINARY_ROUNDED, mul, mulsd, d, f64)
KL_EACH_MODE(KL_BINARY_ROUNDED, div, divsd, d, f64)
KL_EACH_MODE(KL_UNARY_ROUNDED, sqrt, sqrtsd, d, f64)

#pragma clang fp contract(off)
#define KL_NEAREST(letter, type, root)                                       \
  type __nv_##letter##add_rn(type x, type y) { return x + y; }               \
  type __nv_##letter##sub_rn(type x, type y) { return x - y; }               \
  type __nv_##letter##mul_rn(type x, type y) { return x * y; }               \
  type __nv_##letter##div_rn(type x, type y) { return x / y; }               \
  type __nv_##letter##sqrt_rn(type x) { return root(x); }                    \
  type __nv_##letter##rcp_rn(type x) { return 1 / x; }                       \
  type __nv_##letter##rcp_rz(type x) { return __nv_##letter##div_rz(1, x); } \
  type __nv_##letter##rcp_rd(type x) { return __nv_##letter##div_rd(1, x); } \
  type __nv_##letter##rcp_ru(type x) { return __nv_##letter##div_ru(1, x); }
KL_NEAREST(f, f32, __builtin_elementwise_sqrt)
KL_NEAREST(d, f64, __builtin_elementwise_sqrt)

// libm's fma honours MXCSR, in hardware or in software. Volatile keeps it inside the bracket.
#define KL_FMA(name, type, call)                                                        \
  type name##_rn(type x, type y, type z) { return __builtin_elementwise_fma(x, y, z); } \
  KL_FMA_MODE(name##_rz, type, call, kZero)                                             \
  KL_FMA_MODE(name##_rd, type, call, kDown) KL_FMA_MODE(name##_ru, type, call, kUp)
#define KL_FMA_MODE(name, type, call, mode)                     \
  __attribute__((noinline)) type name(type x, type y, type z) { \
    volatile type a = x, b = y, c = z;                          \
    set_rounding(mode);                                         \
    volatile type result = call(a, b, c);                       \
    set_rounding(kNearest);                                     \
    return result;                                              \
  }
KL_FMA(__nv_fmaf, f32, fmaf)
KL_FMA(__nv_fmaf_ieee, f32, fmaf)
KL_FMA(__nv_fma, f64, fma)
f32 __nv_frsqrt_rn(f32 x) { return (f32)(1 / __builtin_elementwise_sqrt((f64)x)); }
