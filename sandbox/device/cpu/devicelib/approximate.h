// What CUDA calls fast or approximate: sums and products in float around four functions of the hardware, of which CUDA
// documents the error. Here too they are polynomials rounded as a table's entries are, so that what is tried on the CPU
// device is off where it is off on a GPU, by as much: sines of large arguments, logarithms near 1, powers of large
// exponents.
#pragma once

#define KL_FLOAT_ROUNDER 0x1.8p23f  // Added to a small number, leaves its nearest integer in the low bits.

/// To a multiple of 2^-23, of a number in [0, 1].
static inline f32 in_table_steps(f32 x) { return (x + 1) - 1; }

/// sin(2 pi a) for a in [-1/4, 1/4]. Small results keep 12 bits at least.
static inline f32 sine_of_quarter(f32 a) {
  const f32 s = a * a;
  f32 p = 0x1.3efc82p+5f;
  p = __builtin_elementwise_fma(p, s, -0x1.326492p+6f);
  p = __builtin_elementwise_fma(p, s, 0x1.4669bep+6f);
  p = __builtin_elementwise_fma(p, s, -0x1.4abbc8p+5f);
  p = __builtin_elementwise_fma(p, s, 0x1.921fb6p+2f);
  const f32 exact = __builtin_elementwise_abs(p * a);
  return __builtin_elementwise_copysign(exact < 0x1p-12f ? exact : in_table_steps(exact), a);
}
/// The argument in turns, less the whole ones: the product is a float, whose error grows with the argument.
static inline f32 part_of_turn(f32 x) {
  const f32 turns = x * 0x1.45f306p-3f;
  return turns - (__builtin_elementwise_roundeven(turns) + 0.0f);  // -0 stays -0.
}
f32 __nvvm_sin_approx_f(f32 x) {
  const f32 r = part_of_turn(x), a = __builtin_elementwise_abs(r);
  return __builtin_elementwise_copysign(sine_of_quarter(a > 0.25f ? 0.5f - a : a), r);
}
f32 __nvvm_cos_approx_f(f32 x) { return sine_of_quarter(0.25f - __builtin_elementwise_abs(part_of_turn(x))); }

f32 __nvvm_ex2_approx_f(f32 x) {
  const _Bool gone = x < -150;
  const f32 inside = gone ? 0 : x > 129 ? 129 : x;
  const f32 t = inside + KL_FLOAT_ROUNDER, f = inside - (t - KL_FLOAT_ROUNDER);
  const i32 n = (i32)(bits_of_float(t) - bits_of_float(KL_FLOAT_ROUNDER)), half = n >> 1;
  f32 p = 0x1.446d48p-13f;
  p = __builtin_elementwise_fma(p, f, 0x1.5f88f2p-10f);
  p = __builtin_elementwise_fma(p, f, 0x1.3b29e4p-7f);
  p = __builtin_elementwise_fma(p, f, 0x1.c6ae2cp-5f);
  p = __builtin_elementwise_fma(p, f, 0x1.ebfbe0p-3f);
  p = __builtin_elementwise_fma(p, f, 0x1.62e432p-1f);
  p = __builtin_elementwise_fma(p, f, 1.0f);
  const f32 y = p * float_of_bits((u32)(half + 127) << 23) * float_of_bits((u32)(n - half + 127) << 23);
  return gone ? 0 : y;
}
f32 __nvvm_ex2_approx_f32(f32 x) { return __nvvm_ex2_approx_f(x); }

/// log2(m * 2^i), m in [sqrt(1/2), sqrt(2)). Near 1 it is its absolute error that is small.
f32 __nvvm_lg2_approx_f(f32 x) {
  const _Bool tiny = x < 0x1p-126f;
  const f32 scaled = tiny ? x * 0x1p23f : x;
  const u32 exponent = (bits_of_float(scaled) - 0x3f3504f3u) & 0xff800000u;
  const f32 i = (f32)((i32)exponent >> 23) - (tiny ? 23.0f : 0.0f),
            f = float_of_bits(bits_of_float(scaled) - exponent) - 1;
  f32 p = 0x1.e85e28p-4f;
  p = __builtin_elementwise_fma(p, f, -0x1.aa55fap-3f);
  p = __builtin_elementwise_fma(p, f, 0x1.bff638p-3f);
  p = __builtin_elementwise_fma(p, f, -0x1.e94766p-3f);
  p = __builtin_elementwise_fma(p, f, 0x1.2672d6p-2f);
  p = __builtin_elementwise_fma(p, f, -0x1.715b5cp-2f);
  p = __builtin_elementwise_fma(p, f, 0x1.ec77eep-2f);
  p = __builtin_elementwise_fma(p, f, -0x1.715474p-1f);
  p = __builtin_elementwise_fma(p, f, 0x1.715472p+0f);
  const f32 y = i + (in_table_steps(__builtin_elementwise_fma(p, f, 0.5f)) - 0.5f);
  const f32 other = x == 0 ? -(f32)KL_INF : x < 0 ? (f32)KL_NAN : x;  // Infinity and NaN stay what they are.
  return x > 0 && x < (f32)KL_INF ? y : other;
}

/// 12 bits of the result, as the hardware has: a relative error of 2^-11 at most.
f32 __nvvm_tanh_approx_f(f32 x) {
  return x != x ? x : float_of_bits((bits_of_float(__nv_tanhf(x)) + 0x800u) & ~0xfffu);
}

/// 0 for a divisor beyond 2^126 (NaN if the dividend is infinite).
f32 __nvvm_div_approx_f(f32 x, f32 y) {
  const f32 a = __builtin_elementwise_abs(y);
  if (a > 0x1p126f && a < (f32)KL_INF)
    return __builtin_elementwise_abs(x) == (f32)KL_INF
               ? (f32)KL_NAN
               : __builtin_elementwise_copysign(0.0f, x * __builtin_elementwise_copysign(1.0f, y));
  return x / y;
}

f32 __nv_fast_sinf(f32 x) { return __nvvm_sin_approx_f(x); }
f32 __nv_fast_cosf(f32 x) { return __nvvm_cos_approx_f(x); }
void __nv_fast_sincosf(f32 x, f32* s, f32* c) { *s = __nvvm_sin_approx_f(x), *c = __nvvm_cos_approx_f(x); }
f32 __nv_fast_tanf(f32 x) { return __nvvm_div_approx_f(__nvvm_sin_approx_f(x), __nvvm_cos_approx_f(x)); }
f32 __nv_fast_tanhf(f32 x) { return __nvvm_tanh_approx_f(x); }
f32 __nv_fast_expf(f32 x) { return __nvvm_ex2_approx_f(x * 0x1.715476p+0f); }
f32 __nv_fast_exp10f(f32 x) { return __nvvm_ex2_approx_f(x * 0x1.a934f0p+1f); }
f32 __nv_fast_log2f(f32 x) { return __nvvm_lg2_approx_f(x); }
f32 __nv_fast_logf(f32 x) { return __nvvm_lg2_approx_f(x) * 0x1.62e43p-1f; }
f32 __nv_fast_log10f(f32 x) { return __nvvm_lg2_approx_f(x) * 0x1.344136p-2f; }
f32 __nv_fast_powf(f32 x, f32 y) { return __nvvm_ex2_approx_f(y * __nvvm_lg2_approx_f(x)); }
f32 __nv_fast_fdividef(f32 x, f32 y) { return __nvvm_div_approx_f(x, y); }
