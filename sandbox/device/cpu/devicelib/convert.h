// Conversions with CUDA's semantics: to integers, out of range saturates, and NaN becomes 0, but the sign bit alone
// from double or to 64 bits (PTX ISA, cvt); the rounding mode is in the name. Half precision is IEEE binary16; bfloat16
// rounds to nearest even.
#pragma once
static inline f64 rounded_rn(f64 x) { return __builtin_elementwise_roundeven(x); }
static inline f64 rounded_rz(f64 x) { return __builtin_elementwise_trunc(x); }
static inline f64 rounded_rd(f64 x) { return __builtin_elementwise_floor(x); }
static inline f64 rounded_ru(f64 x) { return __builtin_elementwise_ceil(x); }
static inline f32 roundedf_rn(f32 x) { return __builtin_elementwise_roundeven(x); }
static inline f32 roundedf_rz(f32 x) { return __builtin_elementwise_trunc(x); }
static inline f32 roundedf_rd(f32 x) { return __builtin_elementwise_floor(x); }
static inline f32 roundedf_ru(f32 x) { return __builtin_elementwise_ceil(x); }

// The bounds are powers of two, exact in either type; comparisons are false for NaN.
#define KL_TO_INT(name, from, to, low, high, minimum, maximum, nan, round)                                   \
  to name(from x) {                                                                                          \
    const from r = round(x);                                                                                 \
    return r >= (from)(high) ? (to)(maximum) : r < (from)(low) ? (to)(minimum) : r == r ? (to)r : (to)(nan); \
  }
#define KL_TO_UINT(name, from, to, wide, high, maximum, nan, round)                          \
  to name(from x) {                                                                          \
    const from r = round(x);                                                                 \
    return r >= (from)(high) ? (to)(maximum) : r > 0 ? (to)(wide)r : r == r ? 0 : (to)(nan); \
  }
#define KL_SIGN32 0x80000000u
#define KL_SIGN64 0x8000000000000000ull
#define KL_EACH_ROUNDING(direction, helper)                                                                         \
  KL_TO_INT(__nv_float2int_##direction, f32, i32, -0x1p31, 0x1p31, KL_SIGN32, 0x7fffffff, 0, helper##f_##direction) \
  KL_TO_UINT(__nv_float2uint_##direction, f32, i32, u32, 0x1p32, 0xffffffffu, 0, helper##f_##direction)             \
  KL_TO_INT(__nv_float2ll_##direction, f32, i64, -0x1p63, 0x1p63, KL_SIGN64, 0x7fffffffffffffffll, KL_SIGN64,       \
            helper##f_##direction)                                                                                  \
  KL_TO_UINT(__nv_float2ull_##direction, f32, i64, u64, 0x1p64, ~0ull, KL_SIGN64, helper##f_##direction)            \
  KL_TO_INT(__nv_double2int_##direction, f64, i32, -0x1p31, 0x1p31, KL_SIGN32, 0x7fffffff, KL_SIGN32,               \
            helper##_##direction)                                                                                   \
  KL_TO_UINT(__nv_double2uint_##direction, f64, i32, u32, 0x1p32, 0xffffffffu, KL_SIGN32, helper##_##direction)     \
  KL_TO_INT(__nv_double2ll_##direction, f64, i64, -0x1p63, 0x1p63, KL_SIGN64, 0x7fffffffffffffffll, KL_SIGN64,      \
            helper##_##direction)                                                                                   \
  KL_TO_UINT(__nv_double2ull_##direction, f64, i64, u64, 0x1p64, ~0ull, KL_SIGN64, helper##_##direction)
KL_EACH_ROUNDING(rn, rounded)
KL_EACH_ROUNDING(rz, rounded)
KL_EACH_ROUNDING(rd, rounded)
KL_EACH_ROUNDING(ru, rounded)

// A nearest result that lies on the wrong side of the exact value is moved by one step.
static inline f32 next_up_f(f32 x) { return nextafterf(x, (f32)KL_INF); }
static inline f32 next_down_f(f32 x) { return nextafterf(x, (f32)-KL_INF); }
static inline f64 next_up(f64 x) { return nextafter(x, KL_INF); }
static inline f64 next_down(f64 x) { return nextafter(x, -KL_INF); }

f32 __nv_double2float_rn(f64 x) { return (f32)x; }
f32 __nv_double2float_rd(f64 x) {
  const f32 r = (f32)x;
  return (f64)r > x ? next_down_f(r) : r;
}
f32 __nv_double2float_ru(f64 x) {
  const f32 r = (f32)x;
  return (f64)r < x ? next_up_f(r) : r;
}
f32 __nv_double2float_rz(f64 x) { return x > 0 ? __nv_double2float_rd(x) : __nv_double2float_ru(x); }
f64 __nv_int2double_rn(i32 x) { return (f64)x; }
f64 __nv_uint2double_rn(i32 x) { return (f64)(u32)x; }

// Exact comparison of an integer and the float made from it: through 128 bits, which hold both.
#define KL_FROM_INT(name, from, integer, to, up, down)       \
  to name##_rn(from x) { return (to)(integer)x; }            \
  to name##_rd(from x) {                                     \
    const to r = (to)(integer)x;                             \
    return (__int128)r > (__int128)(integer)x ? down(r) : r; \
  }                                                          \
  to name##_ru(from x) {                                     \
    const to r = (to)(integer)x;                             \
    return (__int128)r < (__int128)(integer)x ? up(r) : r;   \
  }                                                          \
  to name##_rz(from x) { return (integer)x > 0 ? name##_rd(x) : name##_ru(x); }
KL_FROM_INT(__nv_int2float, i32, i32, f32, next_up_f, next_down_f)
KL_FROM_INT(__nv_uint2float, i32, u32, f32, next_up_f, next_down_f)
KL_FROM_INT(__nv_ll2float, i64, i64, f32, next_up_f, next_down_f)
KL_FROM_INT(__nv_ull2float, i64, u64, f32, next_up_f, next_down_f)
KL_FROM_INT(__nv_ll2double, i64, i64, f64, next_up, next_down)
KL_FROM_INT(__nv_ull2double, i64, u64, f64, next_up, next_down)

f64 __nv_hiloint2double(i32 high, i32 low) { return double_of_bits((u64)(u32)high << 32 | (u32)low); }
i32 __nv_double2loint(f64 x) { return (i32)bits_of_double(x); }
i32 __nv_double2hiint(f64 x) { return (i32)(bits_of_double(x) >> 32); }
f32 __nv_int_as_float(i32 x) { return float_of_bits((u32)x); }
i32 __nv_float_as_int(f32 x) { return (i32)bits_of_float(x); }
f32 __nv_uint_as_float(i32 x) { return float_of_bits((u32)x); }
i32 __nv_float_as_uint(f32 x) { return (i32)bits_of_float(x); }
f64 __nv_longlong_as_double(i64 x) { return double_of_bits((u64)x); }
i64 __nv_double_as_longlong(f64 x) { return (i64)bits_of_double(x); }
u16 __nv_float2half_rn(f32 x) { return __builtin_bit_cast(u16, (f16)x); }
f32 __nv_half2float(u16 x) { return (f32) __builtin_bit_cast(f16, x); }

u16 __kl_float2bfloat_rn(f32 x) {
  const u32 bits = bits_of_float(x);
  if (x != x) return 0x7fff;
  return (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
f32 __kl_bfloat2float(u16 x) { return float_of_bits((u32)x << 16); }
