// Every function of CUDA's mathematics lists, in float and double, by its plain name, its name in std:: and its name
// with an f: the result's type, and its distance from the host's long double, which CUDA documents in units of the last
// place.
#include <cuda_runtime.h>
#include <cfloat>
#include <cmath>
#include <type_traits>
#include "check.h"

constexpr int kCount = 192, kRounds = 32;  // Each round takes other arguments of the same range.

// A function F is a struct of: count (arguments), ulps<T>, low and high of its arguments, want (in long double), and
// plain, in_std (by both names, for any type), suffixed (float). CUDA's own functions are not in std::.
#define FUNCTION(name, arguments, float_ulps, double_ulps, low_, high_, expression) \
  struct F_##name {                                                                 \
    static constexpr const char* text = #name;                                      \
    static constexpr int float_limit = float_ulps, double_limit = double_ulps;      \
    static constexpr double low = low_, high = high_;                               \
    static long double want(long double x, long double y, long double z) { return expression; }
#define CALLS(name, in_std_, list)                                                    \
  template <class T>                                                                  \
  static __device__ auto plain(T x, T y, T z) {                                       \
    return name list;                                                                 \
  }                                                                                   \
  template <class T>                                                                  \
  static __device__ auto in_std(T x, T y, T z) {                                      \
    return in_std_ list;                                                              \
  }                                                                                   \
  static __device__ auto suffixed(float x, float y, float z) { return name##f list; } \
  }                                                                                   \
  ;
#define ONE(name, f, d, low, high) FUNCTION(name, 1, f, d, low, high, name##l(x)) CALLS(name, std::name, (x))
#define TWO(name, f, d, low, high) FUNCTION(name, 2, f, d, low, high, name##l(x, y)) CALLS(name, std::name, (x, y))
#define OWN(name, f, d, low, high, list, expression) \
  FUNCTION(name, 1, f, d, low, high, expression) CALLS(name, name, list)

constexpr long double kPi = 3.14159265358979323846264338327950288L;
static long double half_turns(long double x) { return x - 2 * rintl(x / 2); }
/// Folded into [-1/2, 1/2], where the sine's zeros are exact.
static long double sine_of_turns(long double half_turn) {
  return sinl(kPi * (std::fabs(half_turn) > 0.5L ? copysignl(1, half_turn) - half_turn : half_turn));
}
static long double scaled_erfc(long double x) { return expl(x * x) * erfcl(x); }
/// The x in (low, high) at which f, rising, is y.
template <class F>
static long double inverse(F f, long double y, long double low, long double high) {
  for (int i = 0; i < 200; ++i) {
    const long double middle = (low + high) / 2;
    if (middle == low || middle == high) break;  // Neighbours: nothing lies between.
    (f(middle) < y ? low : high) = middle;
  }
  return (low + high) / 2;
}
/// Bisection knows small results too coarsely.
static long double unless_small(long double x) { return std::fabs(x) < 0.01L ? (long double)NAN : x; }
static long double inverse_erf(long double y) {
  return unless_small(inverse([](long double x) { return erfl(x); }, y, -20, 20));
}
static long double inverse_erfc(long double y) {
  return unless_small(-inverse([](long double x) { return erfcl(-x); }, y, -20, 20));
}
static long double normal(long double x) { return 0.5L * erfcl(-x / sqrtl(2.0L)); }
static long double bessel_i(int n, long double x) {
  long double term = n ? x / 2 : 1, sum = 0;
  for (int k = 1; k < 200; ++k) {
    sum += term;
    term *= (x / 2) * (x / 2) / (k * (long double)(k + n));
  }
  return sum;
}

// clang-format off
// The limits are CUDA's, but for sin, cos and tanh in double: one more, glibc's vectors (libmvec).
ONE(sin, 2, 3, -30, 30) ONE(cos, 2, 3, -30, 30) ONE(tan, 4, 2, -30, 30)
ONE(asin, 2, 2, -1, 1) ONE(acos, 2, 2, -1, 1) ONE(atan, 2, 2, -30, 30)
ONE(sinh, 3, 2, -30, 30) ONE(cosh, 2, 1, -30, 30) ONE(tanh, 2, 2, -10, 10)
ONE(asinh, 3, 3, -30, 30) ONE(acosh, 4, 3, 1, 30) ONE(atanh, 3, 2, -0.99, 0.99)
ONE(exp, 2, 1, -30, 30) ONE(exp2, 2, 1, -30, 30) ONE(expm1, 1, 1, -3, 30)
ONE(log, 1, 1, 0.001, 30) ONE(log2, 1, 1, 0.001, 30) ONE(log10, 2, 1, 0.001, 30) ONE(log1p, 1, 1, -0.9, 30)
ONE(logb, 0, 0, -30, 30)
ONE(sqrt, 0, 0, 0, 30) ONE(cbrt, 1, 1, -30, 30)
ONE(erf, 2, 2, -5, 5) ONE(erfc, 4, 5, -5, 5) ONE(lgamma, 6, 4, 3, 30) ONE(tgamma, 5, 10, 0.1, 20)
ONE(floor, 0, 0, -30, 30) ONE(ceil, 0, 0, -30, 30) ONE(trunc, 0, 0, -30, 30) ONE(round, 0, 0, -30, 30)
ONE(rint, 0, 0, -30, 30) ONE(nearbyint, 0, 0, -30, 30) ONE(fabs, 0, 0, -30, 30)
ONE(ilogb, 0, 0, 0.01, 30) ONE(lround, 0, 0, -30, 30) ONE(llround, 0, 0, -30, 30) ONE(lrint, 0, 0, -30, 30)
ONE(llrint, 0, 0, -30, 30)
TWO(atan2, 3, 2, -30, 30) TWO(pow, 4, 2, 0.1, 9) TWO(hypot, 3, 2, -30, 30) TWO(fmod, 0, 0, -30, 30)
TWO(remainder, 0, 0, -30, 30)
TWO(fmin, 0, 0, -30, 30) TWO(fmax, 0, 0, -30, 30) TWO(fdim, 0, 0, -30, 30) TWO(copysign, 0, 0, -30, 30)
FUNCTION(fma, 3, 0, 0, -30, 30, fmal(x, y, z)) CALLS(fma, std::fma, (x, y, z))
FUNCTION(scalbn, 1, 0, 0, -30, 30, scalbnl(x, 5)) CALLS(scalbn, std::scalbn, (x, 5))
FUNCTION(scalbln, 1, 0, 0, -30, 30, scalblnl(x, -5)) CALLS(scalbln, std::scalbln, (x, -5L))
FUNCTION(ldexp, 1, 0, 0, -30, 30, ldexpl(x, 7)) CALLS(ldexp, std::ldexp, (x, 7))
OWN(rsqrt, 2, 1, 0.01, 30, (x), 1 / sqrtl(x)) OWN(rcbrt, 1, 1, 0.01, 30, (x), 1 / cbrtl(x))
OWN(exp10, 2, 1, -9, 9, (x), powl(10, x)) OWN(rhypot, 2, 1, 1, 30, (x, y), 1 / hypotl(x, y))
OWN(sinpi, 1, 2, -30, 30, (x), sine_of_turns(half_turns(x)))
OWN(cospi, 1, 2, -30, 30, (x), sine_of_turns(0.5L - std::fabs(half_turns(x))))
OWN(erfcx, 4, 4, -4, 9, (x), scaled_erfc(x)) OWN(erfinv, 2, 5, -0.99, 0.99, (x), inverse_erf(x))
OWN(erfcinv, 4, 6, 0.01, 1.99, (x), inverse_erfc(x)) OWN(normcdf, 5, 5, -8, 8, (x), normal(x))
OWN(normcdfinv, 5, 8, 0.01, 0.99, (x), -sqrtl(2.0L) * inverse_erfc(2 * x))
OWN(norm3d, 3, 2, -30, 30, (x, y, z), sqrtl(x * x + y * y + z * z))
OWN(rnorm3d, 2, 2, 1, 30, (x, y, z), 1 / sqrtl(x * x + y * y + z * z))
OWN(norm4d, 3, 2, -30, 30, (x, y, z, x), sqrtl(x * x + y * y + z * z + x * x))
OWN(rnorm4d, 2, 2, 1, 30, (x, y, z, x), 1 / sqrtl(x * x + y * y + z * z + x * x))
OWN(cyl_bessel_i0, 6, 6, -9, 9, (x), bessel_i(0, x)) OWN(cyl_bessel_i1, 6, 6, 0.1, 9, (x), bessel_i(1, x))
OWN(fdivide, 2, 0, 1, 30, (x, y), x / y)
static_assert(kCount > 0);  // A declaration with an end, for clang-format.
// clang-format on

template <class F, class T>
__global__ void evaluate(const T* in, double* out) {
  const int i = threadIdx.x;
  T x = in[i], y = in[(i * 7 + 3) % kCount], z = in[(i * 5 + 1) % kCount];
  auto plain = F::plain(x, y, z);
  auto in_std = F::in_std(x, y, z);
  static_assert(std::is_same<decltype(plain), decltype(in_std)>::value, "a function has one type by both of its names");
  static_assert(std::is_integral<decltype(plain)>::value || std::is_same<decltype(plain), T>::value,
                "float in, float out");
  out[i * 3] = plain;
  out[i * 3 + 1] = in_std;
  out[i * 3 + 2] = F::suffixed((float)x, (float)y, (float)z);
}

/// Units in the last place between a result and the exact value, NaN for the latter: not known well enough.
template <class T>
double distance(double result, long double exact) {
  if (std::isnan(exact)) return 0;
  const T rounded = T(std::fabs(exact));
  return std::fabs(result - exact) / (std::nextafter(rounded, T(INFINITY)) - rounded);
}
constexpr double kRounding =
    0.5001;  // CUDA counts from the correctly rounded result, which is that far from the exact.

int failures = 0;

/// What the host has to know of a function; kept out of the templates, which would be compiled for each of them.
template <class T>
struct Checked {
  const char* text;
  double limit, float_limit, low, high;
  long double (*want)(long double, long double, long double);
  void (*launch)(const T* in, double* out);
};

template <class T>
void check_type(const Checked<T>& function) {
  T in[kCount];
  double out[kCount * 3];
  T* device_in = on_device<T>(nullptr, kCount);
  double* device_out = on_device<double>(nullptr, kCount * 3);
  double worst = 0, worst_suffixed = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kCount; ++i)
      in[i] = T(function.low + (function.high - function.low) * (i + double(round) / kRounds) / kCount);
    CUDA(cudaMemcpy(device_in, in, sizeof in, cudaMemcpyHostToDevice));
    function.launch(device_in, device_out);
    to_host(out, device_out, kCount * 3);
    for (int i = 0; i < kCount; ++i) {
      long double x = in[i], y = in[(i * 7 + 3) % kCount], z = in[(i * 5 + 1) % kCount];
      const long double want = function.want(x, y, z);
      const long double want_float = std::is_same<T, float>::value ? want : function.want((float)x, (float)y, (float)z);
      for (int form = 0; form < 2; ++form) worst = std::fmax(worst, distance<T>(out[i * 3 + form], want));
      worst_suffixed = std::fmax(worst_suffixed, distance<float>(out[i * 3 + 2], want_float));
    }
  }
  const char* type = std::is_same<T, float>::value ? "float" : "double";
  if (!(worst <= function.limit + kRounding && worst_suffixed <= function.float_limit + kRounding))
    ++failures, std::printf("%s(%s): off by %g units in the last place (at most %g), with an f %g\n", function.text,
                            type, worst, function.limit, worst_suffixed);
  CUDA(cudaFree(device_in));
  CUDA(cudaFree(device_out));
}
template <class F, class T>
void launch(const T* in, double* out) {
  evaluate<F, T><<<1, kCount>>>(in, out);
}
template <class F, class T>
Checked<T> checked() {
  const double limit = std::is_same<T, float>::value ? F::float_limit : F::double_limit;
  return {F::text, limit, F::float_limit, F::low, F::high, F::want, launch<F, T>};
}
template <class... F>
void check() {
  (check_type(checked<F, float>()), ...);
  (check_type(checked<F, double>()), ...);
}

// What does not fit the table: results through pointers, classes of numbers, payloads, orders, integer arguments.
template <class T>
__global__ void others(const T* in, double* out) {
  T x = in[0], s, c, whole;
  int e, q, n = 0;
  auto put = [&](double v) { out[n++] = v; };
  sincos(x, &s, &c);
  put(s);
  put(c);
  sincospi(x, &s, &c);
  put(s);
  put(c);
  put(std::frexp(x, &e));
  put(e);
  put(frexp(x, &e));
  put(e);
  put(std::modf(x, &whole));
  put(whole);
  put(modf(x, &whole));
  put(whole);
  put(std::remquo(x, T(0.75), &q));
  put(q & 7);
  put(remquo(x, T(0.75), &q));
  put(q & 7);
  put(nextafter(x, T(9)) > x && nextafter(x, T(9)) < x + T(1e-5));
  put(std::nextafter(x, T(0)) < x);
  put(isnan(nan("")));
  put(isnan(nanf("")));
  put(std::isnan(x));
  put(std::isinf(x / T(0)));
  put(std::isfinite(x));
  put(std::signbit(-x));
  put(isnan(x));
  put(isinf(x / T(0)));
  put(isfinite(x));
  put(signbit(-x));
  put(std::isnormal(x));
  put(isnormal(x));
  put(std::fpclassify(x) == FP_NORMAL);
  put(std::isunordered(x, x));
  put(std::isless(x, T(9)));
  put(isgreater(x, T(9)));
  put(std::abs(-x));
  put(abs(-x));
  put(std::pow(x, 3));
  put(pow(x, 2));
  put(sqrt(4));
  put(std::sqrt(9));
  put(std::exp2(3));
  put(std::fmax(x, 7));
  put(std::fma(x, 2, 1));
  T v[3] = {x, x, x};
  put(norm(3, v));
  put(rnorm(3, v));
  put(j0(x));
  put(j1(x));
  put(jn(2, x));
  put(y0(x));
  put(y1(x));
  put(yn(2, x));
}

template <class T>
void check_others(double tolerance) {
  const T x = T(2.625);
  const double xd = x, root = std::sqrt(3.0) * xd;
  double want[] = {std::sin(xd),
                   std::cos(xd),
                   std::sin(M_PI * 0.625),
                   std::cos(M_PI * 0.625),
                   0.65625,
                   2,
                   0.65625,
                   2,
                   0.625,
                   2,
                   0.625,
                   2,
                   -0.375,
                   4,
                   -0.375,
                   4,
                   1,
                   1,
                   1,
                   1,
                   0,
                   1,
                   1,
                   1,
                   0,
                   1,
                   1,
                   1,
                   1,
                   1,
                   1,
                   0,
                   1,
                   0,
                   xd,
                   xd,
                   xd * xd * xd,
                   xd * xd,
                   2,
                   3,
                   8,
                   7,
                   2 * xd + 1,
                   root,
                   1 / root,
                   ::j0(xd),
                   ::j1(xd),
                   ::jn(2, xd),
                   ::y0(xd),
                   ::y1(xd),
                   ::yn(2, xd)};
  constexpr int count = sizeof want / sizeof *want;
  double out[count];
  T* in = on_device(&x, 1);
  double* device_out = on_device<double>(nullptr, count);
  others<<<1, 1>>>(in, device_out);
  to_host(out, device_out, count);
  for (int i = 0; i < count; ++i)
    if (!(std::fabs(out[i] - want[i]) <= tolerance * (1 + std::fabs(want[i]))))
      ++failures, std::printf("others: value %d is %g, not %g\n", i, out[i], want[i]);
}

int main() {
  check<F_sin, F_cos, F_tan, F_asin, F_acos, F_atan, F_sinh, F_cosh, F_tanh, F_asinh, F_acosh, F_atanh>();
  check<F_exp, F_exp2, F_expm1, F_log, F_log2, F_log10, F_log1p, F_logb, F_sqrt, F_cbrt, F_erf, F_erfc, F_lgamma,
        F_tgamma>();
  check<F_floor, F_ceil, F_trunc, F_round, F_rint, F_nearbyint, F_fabs, F_ilogb, F_lround, F_llround, F_lrint,
        F_llrint>();
  check<F_atan2, F_pow, F_hypot, F_fmod, F_remainder, F_fmin, F_fmax, F_fdim, F_copysign, F_fma, F_scalbn, F_scalbln,
        F_ldexp>();
  check<F_rsqrt, F_rcbrt, F_exp10, F_rhypot, F_sinpi, F_cospi, F_erfcx, F_erfinv, F_erfcinv, F_normcdf, F_normcdfinv>();
  check<F_norm3d, F_rnorm3d, F_norm4d, F_rnorm4d, F_cyl_bessel_i0, F_cyl_bessel_i1, F_fdivide>();
  check_others<float>(1e-5);
  check_others<double>(1e-13);
  CHECK(failures == 0);
  return PASS();
}
