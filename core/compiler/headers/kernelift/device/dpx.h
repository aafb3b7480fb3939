// CUDA's DPX functions: sums, maxima and minima of dynamic programming, over a word or over its halves, with or without
// a floor of zero (relu). Host code has them too. Sums wrap.
#pragma once
#include "words.h"

#define KL_DPX(W, name, parameters, value) \
  static __host__ __device__ __forceinline__ W name parameters { return __builtin_bit_cast(W, value); }
#define KL_MAX __builtin_elementwise_max
#define KL_MIN __builtin_elementwise_min
#define KL_IN(L, x) __builtin_bit_cast(L, x)
#define KL_SUM(L, U) KL_IN(L, (U)(KL_IN(U, a) + KL_IN(U, b)))
/// W: the word, L: its lanes, U: its lanes without sign.
#define KL_DPX_ANY(lanes, W, L, U)                                                                    \
  KL_DPX(W, __viaddmax_##lanes, (W a, W b, W c), KL_MAX(KL_SUM(L, U), KL_IN(L, c)))                   \
  KL_DPX(W, __viaddmin_##lanes, (W a, W b, W c), KL_MIN(KL_SUM(L, U), KL_IN(L, c)))                   \
  KL_DPX(W, __vimax3_##lanes, (W a, W b, W c), KL_MAX(KL_MAX(KL_IN(L, a), KL_IN(L, b)), KL_IN(L, c))) \
  KL_DPX(W, __vimin3_##lanes, (W a, W b, W c), KL_MIN(KL_MIN(KL_IN(L, a), KL_IN(L, b)), KL_IN(L, c)))
#define KL_DPX_SIGNED(lanes, W, L, U)                                                                    \
  KL_DPX_ANY(lanes, W, L, U)                                                                             \
  KL_DPX(W, __viaddmax_##lanes##_relu, (W a, W b, W c), KL_MAX(KL_MAX(KL_SUM(L, U), KL_IN(L, c)), (L)0)) \
  KL_DPX(W, __viaddmin_##lanes##_relu, (W a, W b, W c), KL_MAX(KL_MIN(KL_SUM(L, U), KL_IN(L, c)), (L)0)) \
  KL_DPX(W, __vimax3_##lanes##_relu, (W a, W b, W c), KL_MAX(KL_IN(L, __vimax3_##lanes(a, b, c)), (L)0)) \
  KL_DPX(W, __vimin3_##lanes##_relu, (W a, W b, W c), KL_MAX(KL_IN(L, __vimin3_##lanes(a, b, c)), (L)0)) \
  KL_DPX(W, __vimax_##lanes##_relu, (W a, W b), KL_MAX(KL_MAX(KL_IN(L, a), KL_IN(L, b)), (L)0))          \
  KL_DPX(W, __vimin_##lanes##_relu, (W a, W b), KL_MAX(KL_MIN(KL_IN(L, a), KL_IN(L, b)), (L)0))
KL_DPX_SIGNED(s32, int, int, unsigned)
KL_DPX_SIGNED(s16x2, unsigned, kernelift_s2, kernelift_u2)
KL_DPX_ANY(u32, unsigned, unsigned, unsigned)
KL_DPX_ANY(u16x2, unsigned, kernelift_u2, kernelift_u2)

/// Which of the two it was: true for the first, and where they are equal.
#define KL_DPX_WHICH(name, pick, compare)                                                               \
  static __host__ __device__ __forceinline__ int name##_s32(int a, int b, bool* first) {                \
    return *first = a compare b, pick(a, b);                                                            \
  }                                                                                                     \
  static __host__ __device__ __forceinline__ unsigned name##_u32(unsigned a, unsigned b, bool* first) { \
    return *first = a compare b, pick(a, b);                                                            \
  }                                                                                                     \
  KL_DPX_WHICH2(name##_s16x2, kernelift_s2, pick, compare)                                              \
  KL_DPX_WHICH2(name##_u16x2, kernelift_u2, pick, compare)
#define KL_DPX_WHICH2(name, L, pick, compare)                                                               \
  static __host__ __device__ __forceinline__ unsigned name(unsigned a, unsigned b, bool* high, bool* low) { \
    const L x = KL_IN(L, a), y = KL_IN(L, b);                                                               \
    *low = x[0] compare y[0], *high = x[1] compare y[1];                                                    \
    return KL_IN(unsigned, pick(x, y));                                                                     \
  }
KL_DPX_WHICH(__vibmax, KL_MAX, >=)
KL_DPX_WHICH(__vibmin, KL_MIN, <=)
#undef KL_DPX
#undef KL_MAX
#undef KL_MIN
#undef KL_IN
#undef KL_SUM
#undef KL_DPX_ANY
#undef KL_DPX_SIGNED
#undef KL_DPX_WHICH
#undef KL_DPX_WHICH2
