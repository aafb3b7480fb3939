// Single precision, and the fast variants, which are computed like the accurate ones.
#pragma once
#define R f32
#define N(name) __nv_##name##f
#define M(name) name##f
#define P(name) name##_f
#define LL_RN __nv_float2ll_rn
#define LL_RZ __nv_float2ll_rz
#include "math_template.inc"
#undef R
#undef N
#undef M
#undef P
#undef LL_RN
#undef LL_RZ
// saturate: NaN becomes +0.
f32 __nv_saturatef(f32 x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
i32 __nv_signbitf(f32 x) { return (i32)(bits_of_float(x) >> 31); }
i32 __nv_finitef(f32 x) { return x - x == 0; }
i32 __nv_isinff(f32 x) { return __builtin_elementwise_abs(x) == (f32)KL_INF; }
i32 __nv_isnanf(f32 x) { return x != x; }
f32 __nv_fast_sinf(f32 x) { return __builtin_elementwise_sin(x); }
f32 __nv_fast_cosf(f32 x) { return __builtin_elementwise_cos(x); }
void __nv_fast_sincosf(f32 x, f32* s, f32* c) { __nv_sincosf(x, s, c); }
f32 __nv_fast_tanf(f32 x) { return __builtin_elementwise_tan(x); }
f32 __nv_fast_tanhf(f32 x) { return __builtin_elementwise_tanh(x); }
f32 __nv_fast_expf(f32 x) { return exp_of_f(x); }
f32 __nv_fast_exp10f(f32 x) { return __builtin_elementwise_exp10(x); }
f32 __nv_fast_logf(f32 x) { return log_of_f(x); }
f32 __nv_fast_log2f(f32 x) { return __builtin_elementwise_log2(x); }
f32 __nv_fast_log10f(f32 x) { return __builtin_elementwise_log10(x); }
// As CUDA defines __powf: through the logarithm, so a negative base is NaN.
f32 __nv_fast_powf(f32 x, f32 y) { return x < 0 ? (f32)KL_NAN : __builtin_elementwise_pow(x, y); }
// As CUDA defines __fdividef: 0 for a divisor beyond 2^126 (NaN if the dividend is infinite).
f32 __nv_fast_fdividef(f32 x, f32 y) {
  const f32 a = __builtin_elementwise_abs(y);
  if (a > 0x1p126f && a < (f32)KL_INF) return __builtin_elementwise_abs(x) == (f32)KL_INF ? (f32)KL_NAN : __builtin_elementwise_copysign(0.0f, x * __builtin_elementwise_copysign(1.0f, y));
  return x / y;
}
