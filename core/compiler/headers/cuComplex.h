// Complex numbers as pairs, in host and device code. Quotients and magnitudes are scaled against overflow, as the
// documentation promises.
#pragma once
#include "cuda_runtime.h"

#define KL_FN __host__ __device__ static __inline__
#define KL_COMPLEX(name, part, suffix, vector)                                                                    \
  typedef vector name;                                                                                            \
  KL_FN name make_##name(part re, part im) {                                                                      \
    name z;                                                                                                       \
    z.x = re;                                                                                                     \
    z.y = im;                                                                                                     \
    return z;                                                                                                     \
  }                                                                                                               \
  KL_FN part cuCreal##suffix(name z) { return z.x; }                                                              \
  KL_FN part cuCimag##suffix(name z) { return z.y; }                                                              \
  KL_FN name cuConj##suffix(name z) { return make_##name(z.x, -z.y); }                                            \
  KL_FN name cuCadd##suffix(name a, name b) { return make_##name(a.x + b.x, a.y + b.y); }                         \
  KL_FN name cuCsub##suffix(name a, name b) { return make_##name(a.x - b.x, a.y - b.y); }                         \
  KL_FN name cuCmul##suffix(name a, name b) { return make_##name(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); } \
  KL_FN name cuCdiv##suffix(name a, name b) {                                                                     \
    part scale = fabs##suffix(b.x) + fabs##suffix(b.y), inverse = (part)1 / scale;                                \
    part ar = a.x * inverse, ai = a.y * inverse, br = b.x * inverse, bi = b.y * inverse;                          \
    part over = (part)1 / (br * br + bi * bi);                                                                    \
    return make_##name((ar * br + ai * bi) * over, (ai * br - ar * bi) * over);                                   \
  }                                                                                                               \
  KL_FN part cuCabs##suffix(name z) {                                                                             \
    part a = fabs##suffix(z.x), b = fabs##suffix(z.y), large = a > b ? a : b, small = a > b ? b : a;              \
    if (large == 0 || isinf(large) || isinf(small)) return large + small;                                         \
    part ratio = small / large;                                                                                   \
    return large * sqrt##suffix((part)1 + ratio * ratio);                                                         \
  }                                                                                                               \
  KL_FN name cuCfma##suffix(name a, name b, name c) {                                                             \
    return make_##name(a.x * b.x + c.x - a.y * b.y, a.x * b.y + c.y + a.y * b.x);                                 \
  }
KL_COMPLEX(cuFloatComplex, float, f, float2)
KL_COMPLEX(cuDoubleComplex, double, , double2)
#undef KL_COMPLEX

typedef cuFloatComplex cuComplex;
KL_FN cuComplex make_cuComplex(float re, float im) { return make_cuFloatComplex(re, im); }
KL_FN cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) {
  return make_cuDoubleComplex((double)z.x, (double)z.y);
}
KL_FN cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z) { return make_cuFloatComplex((float)z.x, (float)z.y); }
#undef KL_FN
