// Functions libm lacks: inverse error functions, the normal distribution, scaled erfc, modified Bessel functions. Each
// starts from a rational approximation and is polished by Newton or Halley steps on libm's own erf and erfc.
#pragma once
#define KL_SQRT2 1.41421356237309504880
#define KL_SQRT_PI 1.77245385090551602730
#define KL_TWO_PI 6.28318530717958647692

// Acklam's approximation of the normal quantile for p in (0, 0.5], relative error 1.2e-9.
static f64 lower_quantile(f64 p) {
  static const f64 a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                          1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  static const f64 b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01,
                          -1.328068155288572e+01};
  static const f64 c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                          -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  static const f64 d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00};
  f64 x;
  if (p < 0.02425) {
    const f64 q = __builtin_elementwise_sqrt(-2 * __builtin_elementwise_log(p));
    x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
        ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
  } else {
    const f64 q = p - 0.5, r = q * q;
    x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
        (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
  }
  for (i32 i = 0; i < 2; ++i) {  // Halley, relative to the density so that tails converge too.
    const f64 error = 0.5 * erfc(-x / KL_SQRT2) - p;
    const f64 u = error * __builtin_elementwise_sqrt(KL_TWO_PI) * __builtin_elementwise_exp(x * x / 2);
    x -= u / (1 + x * u / 2);
  }
  return x;
}
f64 __nv_erfinv(f64 y);
f64 __nv_normcdfinv(f64 p) {
  if (!(p >= 0 && p <= 1)) return KL_NAN;
  if (p == 0) return -KL_INF;
  if (p == 1) return KL_INF;
  if (__builtin_elementwise_abs(p - 0.5) < 0.25) return KL_SQRT2 * __nv_erfinv(2 * p - 1);  // 2p - 1 is exact there.
  return p <= 0.5 ? lower_quantile(p) : -lower_quantile(1 - p);
}
f64 __nv_erfcinv(f64 y) {
  if (!(y >= 0 && y <= 2)) return KL_NAN;
  if (y == 0) return KL_INF;
  if (y == 2) return -KL_INF;
  if (__builtin_elementwise_abs(1 - y) < 0.5)
    return __nv_erfinv(1 - y);  // 1 - y is exact there, and small near the zero.
  return y <= 1 ? -lower_quantile(y / 2) / KL_SQRT2 : lower_quantile((2 - y) / 2) / KL_SQRT2;
}
f64 __nv_erfinv(f64 y) {
  const f64 a = __builtin_elementwise_abs(y);
  if (!(a <= 1)) return KL_NAN;
  if (a == 1) return y * KL_INF;
  f64 x;
  if (a < 0.5) {
    x = y * KL_SQRT_PI / 2 * (1 + y * y * KL_PI / 12);
    for (i32 i = 0; i < 4; ++i) {
      const f64 step = (erf(x) - y) * KL_SQRT_PI / 2 * __builtin_elementwise_exp(x * x);
      x -= step / (1 + x * step);
    }
    return y == 0 ? y : x;
  }
  x = -lower_quantile((1 - a) / 2) / KL_SQRT2;
  return y < 0 ? -x : x;
}
// erfc's slope makes the rounding of its argument x²-fold in the tail, so what -x/sqrt(2) lost is put back to first
// order.
f64 __nv_normcdf(f64 x) {
  const f64 high = 0.70710678118654757, low = -4.8336466567264567e-17;  // 1/sqrt(2)
  const f64 t = -x * high;
  const f64 lost = __builtin_elementwise_fma(-x, high, -t) - x * low;
  const f64 tail = erfc(t);
  if (!(__builtin_elementwise_abs(t) < 26)) return 0.5 * tail;
  return 0.5 * (tail - lost * (2 / KL_SQRT_PI) * __builtin_elementwise_exp(-t * t));
}
// Likewise for what x² lost.
f64 __nv_erfcx(f64 x) {
  if (x < 25) {
    const f64 square = x * x, scale = __builtin_elementwise_exp(square);
    if (scale == (f64)KL_INF) return scale;
    return __builtin_elementwise_fma(scale, __builtin_elementwise_fma(x, x, -square), scale) * erfc(x);
  }
  // Asymptotic series; at 25 the first term left out is below 1e-17.
  const f64 r = 1 / (x * x);
  return (1 + r * (-0.5 + r * (0.75 + r * (-1.875 + r * (6.5625 - r * 29.53125))))) / (x * KL_SQRT_PI);
}
// I0 and I1: the power series while it converges fast, the asymptotic expansion beyond.
static f64 modified_bessel(i32 order, f64 x) {
  const f64 a = __builtin_elementwise_abs(x);
  if (a != a) return a;
  if (a < 30) {
    // In extended precision: every term inherits the rounding of those before it.
    const long double quarter = (long double)a * a / 4;
    long double term = order ? a / 2 : 1, sum = term;
    for (i32 k = 1; k < 200 && term > sum * 1e-18L; ++k) {
      term *= quarter / ((long double)k * (k + order));
      sum += term;
    }
    return (f64)sum;
  }
  const f64 mu = 4.0 * order * order;
  f64 term = 1, sum = 1;
  for (i32 k = 1; k < 30; ++k) {
    const f64 odd = 2 * k - 1, next = -term * (mu - odd * odd) / (8 * a * k);
    if (__builtin_elementwise_abs(next) >= __builtin_elementwise_abs(term)) break;
    term = next;
    sum += term;
  }
  const f64 half = __builtin_elementwise_exp(a / 2);
  return half * (sum / __builtin_elementwise_sqrt(KL_TWO_PI * a)) * half;
}
f64 __nv_cyl_bessel_i0(f64 x) { return modified_bessel(0, x); }
f64 __nv_cyl_bessel_i1(f64 x) { return x < 0 ? -modified_bessel(1, x) : modified_bessel(1, x); }

f32 __nv_normcdfinvf(f32 p) { return (f32)__nv_normcdfinv(p); }
f32 __nv_erfcinvf(f32 y) { return (f32)__nv_erfcinv(y); }
f32 __nv_erfinvf(f32 y) { return (f32)__nv_erfinv(y); }
f32 __nv_normcdff(f32 x) { return (f32)__nv_normcdf(x); }
f32 __nv_erfcxf(f32 x) { return (f32)__nv_erfcx(x); }
f32 __nv_cyl_bessel_i0f(f32 x) { return (f32)__nv_cyl_bessel_i0(x); }
f32 __nv_cyl_bessel_i1f(f32 x) { return (f32)__nv_cyl_bessel_i1(x); }
