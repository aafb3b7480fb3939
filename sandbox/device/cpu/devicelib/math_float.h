// Single precision.
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
