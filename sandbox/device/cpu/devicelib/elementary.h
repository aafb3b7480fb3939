// Exponentials and logarithms that glibc's vectors do to 2 or 3 units in the last place where CUDA documents 1: short
// polynomials without branches, so that loops over device threads vectorise through them as they are.
#pragma once

/// log(x), within 1 unit: x = m * 2^i with m in [2/3, 4/3), a polynomial in m - 1.
static inline f32 log_of_f(f32 x) {
  const _Bool tiny = x < 0x1p-126f;
  const f32 scaled = tiny ? x * 0x1p23f : x;
  const u32 exponent = (bits_of_float(scaled) - 0x3f2aaaabu) & 0xff800000u;
  const f32 m = float_of_bits(bits_of_float(scaled) - exponent);
  const f32 i = __builtin_elementwise_fma((f32)(i32)exponent, 0x1p-23f, tiny ? -23.0f : 0.0f);
  const f32 f = m - 1, s = f * f;
  f32 r = __builtin_elementwise_fma(-0x1.0ae000p-3f, s, -0x1.f198b2p-4f);
  const f32 t =
      __builtin_elementwise_fma(__builtin_elementwise_fma(0x1.208000p-3f, s, 0x1.1e5740p-3f), s, 0x1.99d8b2p-3f);
  r = __builtin_elementwise_fma(r, s, -0x1.55b362p-3f);
  r = __builtin_elementwise_fma(r, s, -0x1.fffe02p-3f);
  r = __builtin_elementwise_fma(t, f, r);
  r = __builtin_elementwise_fma(r, f, 0x1.5554fap-2f);
  r = __builtin_elementwise_fma(r, f, -0.5f);
  r = __builtin_elementwise_fma(r, s, f);
  r = __builtin_elementwise_fma(i, 0x1.62e430p-1f, r);
  const f32 other = x == 0 ? -(f32)KL_INF : x < 0 ? (f32)KL_NAN : x;  // Infinity and NaN stay what they are.
  return x > 0 && x < (f32)KL_INF ? r : other;
}
static inline f64 log_of_d(f64 x) { return __builtin_elementwise_log(x); }

/// e^(r + low) * 2^n for |r| <= ln(2) / 2 (and a little) and a tiny low. A result that may be subnormal (deep) or
/// overflow (high) is scaled in two steps: processors are slow where a product is subnormal, and only true subnormals
/// go through one.
static inline f64 scaled_exponential(f64 r, f64 low, i64 n, _Bool deep, _Bool high) {
  f64 p = 1.0 / 6227020800;
  p = __builtin_elementwise_fma(p, r, 1.0 / 479001600);
  p = __builtin_elementwise_fma(p, r, 1.0 / 39916800);
  p = __builtin_elementwise_fma(p, r, 1.0 / 3628800);
  p = __builtin_elementwise_fma(p, r, 1.0 / 362880);
  p = __builtin_elementwise_fma(p, r, 1.0 / 40320);
  p = __builtin_elementwise_fma(p, r, 1.0 / 5040);
  p = __builtin_elementwise_fma(p, r, 1.0 / 720);
  p = __builtin_elementwise_fma(p, r, 1.0 / 120);
  p = __builtin_elementwise_fma(p, r, 1.0 / 24);
  p = __builtin_elementwise_fma(p, r, 1.0 / 6);
  p = __builtin_elementwise_fma(p, r, 0.5);
  p = __builtin_elementwise_fma(p, r, 1.0);
  p = __builtin_elementwise_fma(p, r, 1.0);
  p = __builtin_elementwise_fma(p, low, p);
  const i64 moved = deep ? 53 : high ? -1 : 0;
  const f64 last = deep ? 0x1p-53 : high ? 2 : 1;
  return p * double_of_bits((u64)(n + moved + 1023) << 52) * last;
}
#define KL_ROUNDER 0x1.8p52  // Added to a small number, leaves its nearest integer in the low bits.
// Arguments whose result is 0 are taken for 0 until the end, those that overflow for the next after the last that does
// not.
static inline f64 exp_of_d(f64 x) {
  const _Bool gone = x < -745.2;
  const f64 inside = gone ? 0 : x > 710 ? 710 : x;
  const f64 t = __builtin_elementwise_fma(inside, 0x1.71547652b82fep+0, KL_ROUNDER), j = t - KL_ROUNDER;
  const f64 high = __builtin_elementwise_fma(j, -0x1.62e42fefa39efp-1, inside);
  const f64 r = __builtin_elementwise_fma(j, -0x1.abc9e3b39803fp-56, high);
  const f64 low = __builtin_elementwise_fma(j, -0x1.abc9e3b39803fp-56, high - r);
  const f64 y =
      scaled_exponential(r, low, (i64)(bits_of_double(t) - bits_of_double(KL_ROUNDER)), inside < -707, inside > 708);
  return gone ? 0 : y;
}
static inline f64 exp10_of_d(f64 x) {
  const _Bool gone = x < -323.7;
  const f64 inside = gone ? 0 : x > 308.5 ? 308.5 : x;
  const f64 t = __builtin_elementwise_fma(inside, 0x1.a934f0979a371p+1, KL_ROUNDER), j = t - KL_ROUNDER;
  f64 r = __builtin_elementwise_fma(j, -0x1.34413509f79ffp-2, inside);
  r = __builtin_elementwise_fma(j, 0x1.9dc1da994fd21p-59, r);
  const f64 high = r * 0x1.26bb1bbb55516p+1;
  const f64 low = __builtin_elementwise_fma(r, 0x1.26bb1bbb55516p+1, -high) - r * 0x1.f48ad494ea3e9p-53;
  const f64 y =
      scaled_exponential(high, low, (i64)(bits_of_double(t) - bits_of_double(KL_ROUNDER)), inside < -307, inside > 307);
  return gone ? 0 : y;
}
/// glibc's vectors are good to 2 units, and slow where all is lost to underflow: those arguments are kept from them.
static inline f32 exp_of_f(f32 x) {
  const _Bool gone = x < -104;
  const f32 y = __builtin_elementwise_exp(gone ? 0 : x);
  return gone ? 0 : y;
}
static inline f32 exp10_of_f(f32 x) { return __builtin_elementwise_exp10(x); }
