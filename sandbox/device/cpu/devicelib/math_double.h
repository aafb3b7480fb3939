// Double precision, and the predicates libdevice names by type.
#pragma once
#define R f64
#define N(name) __nv_##name
#define M(name) name
#define P(name) name##_d
#define LL_RN __nv_double2ll_rn
#define LL_RZ __nv_double2ll_rz
#include "math_template.inc"
#undef R
#undef N
#undef M
#undef P
#undef LL_RN
#undef LL_RZ
f64 __nv_rcp64h(f64 x) { return double_of_bits(bits_of_double(1 / x) & 0xffffffff00000000ull); }
i32 __nv_signbitd(f64 x) { return (i32)(bits_of_double(x) >> 63); }
i32 __nv_isfinited(f64 x) { return x - x == 0; }
i32 __nv_isinfd(f64 x) { return __builtin_elementwise_abs(x) == KL_INF; }
i32 __nv_isnand(f64 x) { return x != x; }
