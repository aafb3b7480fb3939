// Arithmetic, operators and mathematics of a 16-bit float type and its pair. Read twice, for __half and for
// __nv_bfloat16, whose functions have the same names, so it has no guard. Expects KL_T, KL_T2 (the types), and
// KL_NATIVE (clang's type, for device code). Host code computes in float and rounds the result: sums, products and
// quotients of two such numbers are correctly rounded that way.
#define KL_FN static __inline__ __attribute__((always_inline)) __host__ __device__

#if defined(__CUDA_ARCH__)
#define KL_UNFUSED _Pragma("clang fp contract(off)")
#define KL_BINARY(name, operator, ...)                        \
  KL_FN KL_T name(const KL_T a, const KL_T b) {               \
    __VA_ARGS__                                               \
    return KL_T::from_native(a.native() operator b.native()); \
  }
#else
#define KL_UNFUSED
#define KL_BINARY(name, operator, ...) \
  KL_FN KL_T name(const KL_T a, const KL_T b) { return KL_T((float)a operator(float) b); }
#endif
#define KL_PAIRWISE(name, scalar) \
  KL_FN KL_T2 name(const KL_T2 a, const KL_T2 b) { return KL_T2(scalar(a.x, b.x), scalar(a.y, b.y)); }
#define KL_SATURATE(name, plain) \
  KL_FN KL_T name(const KL_T a, const KL_T b) { return kernelift_saturate(plain(a, b)); }
/// Clamped to [0, 1]; NaN becomes 0.
KL_FN KL_T kernelift_saturate(const KL_T a) {
  float f = (float)a;
  return KL_T(f > 1.0f ? 1.0f : f > 0.0f ? f : 0.0f);
}
KL_BINARY(__hadd, +)
KL_BINARY(__hsub, -)
KL_BINARY(__hmul, *)
KL_BINARY(__hdiv, /)
// The _rn forms are never contracted into a fused multiply-add.
KL_BINARY(__hadd_rn, +, KL_UNFUSED)
KL_BINARY(__hsub_rn, -, KL_UNFUSED)
KL_BINARY(__hmul_rn, *, KL_UNFUSED)
#undef KL_UNFUSED
KL_SATURATE(__hadd_sat, __hadd)
KL_SATURATE(__hsub_sat, __hsub)
KL_SATURATE(__hmul_sat, __hmul)
KL_PAIRWISE(__hadd2, __hadd)
KL_PAIRWISE(__hsub2, __hsub)
KL_PAIRWISE(__hmul2, __hmul)
KL_PAIRWISE(__h2div, __hdiv)
KL_PAIRWISE(__hadd2_rn, __hadd_rn)
KL_PAIRWISE(__hsub2_rn, __hsub_rn)
KL_PAIRWISE(__hmul2_rn, __hmul_rn)
KL_PAIRWISE(__hadd2_sat, __hadd_sat)
KL_PAIRWISE(__hsub2_sat, __hsub_sat)
KL_PAIRWISE(__hmul2_sat, __hmul_sat)
KL_FN KL_T __hfma(const KL_T a, const KL_T b, const KL_T c) {
#if defined(__CUDA_ARCH__)
  return KL_T::from_native(__builtin_elementwise_fma(a.native(), b.native(), c.native()));
#else
  // The product is exact in double, and so is the sum wherever it can lie between two 16-bit values.
  return KL_T((double)(float)a * (double)(float)b + (double)(float)c);
#endif
}
KL_FN KL_T __hfma_sat(const KL_T a, const KL_T b, const KL_T c) { return kernelift_saturate(__hfma(a, b, c)); }
KL_FN KL_T __hfma_relu(const KL_T a, const KL_T b, const KL_T c) {
  KL_T r = __hfma(a, b, c);
  return (float)r < 0.0f ? KL_T(0.0f) : r;
}
KL_FN KL_T2 __hfma2(const KL_T2 a, const KL_T2 b, const KL_T2 c) {
  return KL_T2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
KL_FN KL_T2 __hfma2_sat(const KL_T2 a, const KL_T2 b, const KL_T2 c) {
  return KL_T2(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y));
}
KL_FN KL_T2 __hfma2_relu(const KL_T2 a, const KL_T2 b, const KL_T2 c) {
  return KL_T2(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y));
}
/// a * b + c of complex numbers.
KL_FN KL_T2 __hcmadd(const KL_T2 a, const KL_T2 b, const KL_T2 c) {
  const KL_T minus = KL_T::from_bits((unsigned short)(a.y.__x ^ 0x8000u));
  return KL_T2(__hfma(minus, b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)));
}
KL_FN KL_T __hneg(const KL_T a) { return KL_T::from_bits((unsigned short)(a.__x ^ 0x8000u)); }
KL_FN KL_T __habs(const KL_T a) { return KL_T::from_bits((unsigned short)(a.__x & 0x7fffu)); }
KL_FN KL_T2 __hneg2(const KL_T2 a) { return KL_T2(__hneg(a.x), __hneg(a.y)); }
KL_FN KL_T2 __habs2(const KL_T2 a) { return KL_T2(__habs(a.x), __habs(a.y)); }
KL_FN bool __hisnan(const KL_T a) { return (float)a != (float)a; }
KL_FN int __hisinf(const KL_T a) {
  float f = (float)a;
  return f == __builtin_inff() ? 1 : f == -__builtin_inff() ? -1 : 0;
}
KL_FN KL_T2 __hisnan2(const KL_T2 a) {
  return KL_T2(KL_T(__hisnan(a.x) ? 1.0f : 0.0f), KL_T(__hisnan(a.y) ? 1.0f : 0.0f));
}

#include "kernelift/half/comparisons.h"

#define KL_OPERATOR(op, name)                                                 \
  KL_FN KL_T operator op(const KL_T& a, const KL_T& b) { return name(a, b); } \
  KL_FN KL_T& operator op## = (KL_T & a, const KL_T& b) { return a = name(a, b); }
KL_OPERATOR(+, __hadd)
KL_OPERATOR(-, __hsub)
KL_OPERATOR(*, __hmul)
KL_OPERATOR(/, __hdiv)
#undef KL_OPERATOR
#define KL_OPERATOR(op, name)                                                    \
  KL_FN KL_T2 operator op(const KL_T2& a, const KL_T2& b) { return name(a, b); } \
  KL_FN KL_T2& operator op## = (KL_T2 & a, const KL_T2& b) { return a = name(a, b); }
KL_OPERATOR(+, __hadd2)
KL_OPERATOR(-, __hsub2)
KL_OPERATOR(*, __hmul2)
KL_OPERATOR(/, __h2div)
#undef KL_OPERATOR
KL_FN KL_T operator+(const KL_T& a) { return a; }
KL_FN KL_T operator-(const KL_T& a) { return __hneg(a); }
KL_FN KL_T2 operator-(const KL_T2& a) { return __hneg2(a); }
KL_FN KL_T& operator++(KL_T& a) { return a = __hadd(a, KL_T(1.0f)); }
KL_FN KL_T& operator--(KL_T& a) { return a = __hsub(a, KL_T(1.0f)); }
KL_FN KL_T operator++(KL_T& a, int) {
  const KL_T before = a;
  ++a;
  return before;
}
KL_FN KL_T operator--(KL_T& a, int) {
  const KL_T before = a;
  --a;
  return before;
}
KL_FN bool operator==(const KL_T& a, const KL_T& b) { return __heq(a, b); }
KL_FN bool operator!=(const KL_T& a, const KL_T& b) { return __hneu(a, b); }
KL_FN bool operator<(const KL_T& a, const KL_T& b) { return __hlt(a, b); }
KL_FN bool operator<=(const KL_T& a, const KL_T& b) { return __hle(a, b); }
KL_FN bool operator>(const KL_T& a, const KL_T& b) { return __hgt(a, b); }
KL_FN bool operator>=(const KL_T& a, const KL_T& b) { return __hge(a, b); }
KL_FN bool operator==(const KL_T2& a, const KL_T2& b) { return __hbeq2(a, b); }
KL_FN bool operator!=(const KL_T2& a, const KL_T2& b) { return __hbneu2(a, b); }  // True where both differ, as in CUDA.
KL_FN bool operator<(const KL_T2& a, const KL_T2& b) { return __hblt2(a, b); }
KL_FN bool operator<=(const KL_T2& a, const KL_T2& b) { return __hble2(a, b); }
KL_FN bool operator>(const KL_T2& a, const KL_T2& b) { return __hbgt2(a, b); }
KL_FN bool operator>=(const KL_T2& a, const KL_T2& b) { return __hbge2(a, b); }

// Mathematics is computed in float, as CUDA's is.
#define KL_MATH(name, expression)     \
  KL_FN KL_T h##name(const KL_T a) {  \
    float x = (float)a;               \
    return KL_T((float)(expression)); \
  }                                   \
  KL_FN KL_T2 h2##name(const KL_T2 a) { return KL_T2(h##name(a.x), h##name(a.y)); }
KL_MATH(sqrt, sqrtf(x))
KL_MATH(rsqrt, 1.0f / sqrtf(x))
KL_MATH(rcp, 1.0f / x)
KL_MATH(exp, expf(x))
KL_MATH(exp2, exp2f(x))
KL_MATH(exp10, exp2f(x * 3.32192809488736234787f))
KL_MATH(log, logf(x))
KL_MATH(log2, log2f(x))
KL_MATH(log10, log10f(x))
KL_MATH(sin, sinf(x))
KL_MATH(cos, cosf(x))
KL_MATH(tanh, tanhf(x))
KL_MATH(tanh_approx, tanhf(x))
KL_MATH(floor, __builtin_floorf(x))
KL_MATH(ceil, __builtin_ceilf(x))
KL_MATH(trunc, __builtin_truncf(x))
KL_MATH(rint, __builtin_rintf(x))
#undef KL_MATH

#include "kernelift/half/device.h"

#undef KL_FN
#undef KL_BINARY
#undef KL_PAIRWISE
#undef KL_SATURATE
