// NVVM's arithmetic intrinsics: rounding in the name (rn, rz, rm down, rp up). Reciprocals, square roots and divisions
// that it calls approximate are exact: CUDA promises all but the last bit of them. The other approximations are in
// approximate.h.
#pragma once
#define KL_NVVM_ARITHMETIC(op)                                           \
  f32 __nvvm_##op##_rn_f(f32 x, f32 y) { return __nv_f##op##_rn(x, y); } \
  f32 __nvvm_##op##_rz_f(f32 x, f32 y) { return __nv_f##op##_rz(x, y); } \
  f32 __nvvm_##op##_rm_f(f32 x, f32 y) { return __nv_f##op##_rd(x, y); } \
  f32 __nvvm_##op##_rp_f(f32 x, f32 y) { return __nv_f##op##_ru(x, y); } \
  f64 __nvvm_##op##_rn_d(f64 x, f64 y) { return __nv_d##op##_rn(x, y); } \
  f64 __nvvm_##op##_rz_d(f64 x, f64 y) { return __nv_d##op##_rz(x, y); } \
  f64 __nvvm_##op##_rm_d(f64 x, f64 y) { return __nv_d##op##_rd(x, y); } \
  f64 __nvvm_##op##_rp_d(f64 x, f64 y) { return __nv_d##op##_ru(x, y); }
KL_NVVM_ARITHMETIC(add)
KL_NVVM_ARITHMETIC(mul)
KL_NVVM_ARITHMETIC(div)
#define KL_NVVM_UNARY(op)                                      \
  f32 __nvvm_##op##_rn_f(f32 x) { return __nv_f##op##_rn(x); } \
  f32 __nvvm_##op##_rz_f(f32 x) { return __nv_f##op##_rz(x); } \
  f32 __nvvm_##op##_rm_f(f32 x) { return __nv_f##op##_rd(x); } \
  f32 __nvvm_##op##_rp_f(f32 x) { return __nv_f##op##_ru(x); } \
  f64 __nvvm_##op##_rn_d(f64 x) { return __nv_d##op##_rn(x); } \
  f64 __nvvm_##op##_rz_d(f64 x) { return __nv_d##op##_rz(x); } \
  f64 __nvvm_##op##_rm_d(f64 x) { return __nv_d##op##_rd(x); } \
  f64 __nvvm_##op##_rp_d(f64 x) { return __nv_d##op##_ru(x); }
KL_NVVM_UNARY(sqrt)
KL_NVVM_UNARY(rcp)
f32 __nvvm_fma_rz_f(f32 x, f32 y, f32 z) { return __nv_fmaf_rz(x, y, z); }
f32 __nvvm_fma_rm_f(f32 x, f32 y, f32 z) { return __nv_fmaf_rd(x, y, z); }
f32 __nvvm_fma_rp_f(f32 x, f32 y, f32 z) { return __nv_fmaf_ru(x, y, z); }
f64 __nvvm_fma_rz_d(f64 x, f64 y, f64 z) { return __nv_fma_rz(x, y, z); }
f64 __nvvm_fma_rm_d(f64 x, f64 y, f64 z) { return __nv_fma_rd(x, y, z); }
f64 __nvvm_fma_rp_d(f64 x, f64 y, f64 z) { return __nv_fma_ru(x, y, z); }

f32 __nvvm_sqrt_f(f32 x) { return __nv_sqrtf(x); }
f32 __nvvm_sqrt_approx_f(f32 x) { return __nv_sqrtf(x); }
f32 __nvvm_rsqrt_approx_f(f32 x) { return __nv_rsqrtf(x); }
f64 __nvvm_rsqrt_approx_d(f64 x) { return __nv_rsqrt(x); }
f32 __nvvm_rcp_approx_f(f32 x) { return 1 / x; }
f64 __nvvm_rcp_approx_d(f64 x) { return 1 / x; }
f32 __nvvm_div_full(f32 x, f32 y) { return x / y; }
f64 __nvvm_lg2_approx_d(f64 x) { return __nv_log2(x); }
f32 __nvvm_saturate_f(f32 x) { return __nv_saturatef(x); }
f64 __nvvm_saturate_d(f64 x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
f32 __nvvm_floor_f(f32 x) { return __nv_floorf(x); }
f64 __nvvm_floor_d(f64 x) { return __nv_floor(x); }
f32 __nvvm_ceil_f(f32 x) { return __nv_ceilf(x); }
f64 __nvvm_ceil_d(f64 x) { return __nv_ceil(x); }
f32 __nvvm_trunc_f(f32 x) { return __nv_truncf(x); }
f64 __nvvm_trunc_d(f64 x) { return __nv_trunc(x); }
f32 __nvvm_round_f(f32 x) { return __nv_rintf(x); }
f64 __nvvm_round_d(f64 x) { return __nv_rint(x); }

#define KL_NVVM_CONVERT(to, name, from, long_name)                   \
  to __nvvm_##name##_rn(from x) { return __nv_##long_name##_rn(x); } \
  to __nvvm_##name##_rz(from x) { return __nv_##long_name##_rz(x); } \
  to __nvvm_##name##_rm(from x) { return __nv_##long_name##_rd(x); } \
  to __nvvm_##name##_rp(from x) { return __nv_##long_name##_ru(x); }
KL_NVVM_CONVERT(i32, f2i, f32, float2int)
KL_NVVM_CONVERT(i32, f2ui, f32, float2uint)
KL_NVVM_CONVERT(i64, f2ll, f32, float2ll)
KL_NVVM_CONVERT(i64, f2ull, f32, float2ull)
KL_NVVM_CONVERT(i32, d2i, f64, double2int)
KL_NVVM_CONVERT(i32, d2ui, f64, double2uint)
KL_NVVM_CONVERT(i64, d2ll, f64, double2ll)
KL_NVVM_CONVERT(i64, d2ull, f64, double2ull)
KL_NVVM_CONVERT(f32, d2f, f64, double2float)
KL_NVVM_CONVERT(f32, i2f, i32, int2float)
KL_NVVM_CONVERT(f32, ui2f, i32, uint2float)
KL_NVVM_CONVERT(f32, ll2f, i64, ll2float)
KL_NVVM_CONVERT(f32, ull2f, i64, ull2float)
KL_NVVM_CONVERT(f64, ll2d, i64, ll2double)
KL_NVVM_CONVERT(f64, ull2d, i64, ull2double)
#define KL_NVVM_EXACT(suffix)                       \
  f64 __nvvm_i2d_##suffix(i32 x) { return (f64)x; } \
  f64 __nvvm_ui2d_##suffix(i32 x) { return (f64)(u32)x; }
KL_NVVM_EXACT(rn) KL_NVVM_EXACT(rz) KL_NVVM_EXACT(rm) KL_NVVM_EXACT(rp) i32 __nvvm_d2i_hi(f64 x) {
  return __nv_double2hiint(x);
}
i32 __nvvm_d2i_lo(f64 x) { return __nv_double2loint(x); }
f64 __nvvm_lohi_i2d(i32 low, i32 high) { return __nv_hiloint2double(high, low); }
i16 __nvvm_f2h_rn(f32 x) { return (i16)__nv_float2half_rn(x); }
