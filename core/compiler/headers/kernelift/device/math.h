// Device mathematics: clang's own wrappers over libdevice (__nv_*), which stay calls in the IR, and the C++ overloads.
// The order matters: forward declarations come before <cmath> so that its templates find device overloads.
#pragma once
#include <__clang_cuda_libdevice_declares.h>
#include <__clang_cuda_device_functions.h>
#include <__clang_cuda_math.h>

// Overloads by type that nvcc predeclares beyond the C++ library's.
#define KL_DEVICE static __device__ __forceinline__
KL_DEVICE float __tanhf(float a) { return tanhf(a); }
KL_DEVICE float rsqrt(float a) { return rsqrtf(a); }
KL_DEVICE float rcbrt(float a) { return rcbrtf(a); }
KL_DEVICE float sinpi(float a) { return sinpif(a); }
KL_DEVICE float cospi(float a) { return cospif(a); }
KL_DEVICE void sincospi(float a, float* s, float* c) { sincospif(a, s, c); }
KL_DEVICE void sincos(float a, float* s, float* c) { sincosf(a, s, c); }
KL_DEVICE float erfinv(float a) { return erfinvf(a); }
KL_DEVICE float erfcinv(float a) { return erfcinvf(a); }
KL_DEVICE float normcdfinv(float a) { return normcdfinvf(a); }
KL_DEVICE float normcdf(float a) { return normcdff(a); }
KL_DEVICE float erfcx(float a) { return erfcxf(a); }
KL_DEVICE float exp10(float a) { return exp10f(a); }
KL_DEVICE float fdivide(float a, float b) { return fdividef(a, b); }
KL_DEVICE float j0(float a) { return j0f(a); }
KL_DEVICE float j1(float a) { return j1f(a); }
KL_DEVICE float y0(float a) { return y0f(a); }
KL_DEVICE float y1(float a) { return y1f(a); }
KL_DEVICE float cyl_bessel_i0(float a) { return cyl_bessel_i0f(a); }
KL_DEVICE float cyl_bessel_i1(float a) { return cyl_bessel_i1f(a); }
KL_DEVICE float norm3d(float a, float b, float c) { return norm3df(a, b, c); }
KL_DEVICE float rhypot(float a, float b) { return rhypotf(a, b); }
KL_DEVICE float norm4d(float a, float b, float c, float d) { return norm4df(a, b, c, d); }
KL_DEVICE float rnorm3d(float a, float b, float c) { return rnorm3df(a, b, c); }
KL_DEVICE float rnorm4d(float a, float b, float c, float d) { return rnorm4df(a, b, c, d); }
KL_DEVICE float norm(int n, const float* v) { return normf(n, v); }
KL_DEVICE float rnorm(int n, const float* v) { return rnormf(n, v); }
KL_DEVICE float jn(int n, float a) { return jnf(n, a); }
KL_DEVICE float yn(int n, float a) { return ynf(n, a); }

// Overloads that clang declares but leaves to the toolkit's headers to define.
KL_DEVICE float asinh(float a) { return asinhf(a); }
KL_DEVICE float acosh(float a) { return acoshf(a); }
KL_DEVICE float atanh(float a) { return atanhf(a); }
KL_DEVICE float cbrt(float a) { return cbrtf(a); }
KL_DEVICE float erf(float a) { return erff(a); }
KL_DEVICE float erfc(float a) { return erfcf(a); }
KL_DEVICE float lgamma(float a) { return lgammaf(a); }
KL_DEVICE float tgamma(float a) { return tgammaf(a); }
KL_DEVICE float exp2(float a) { return exp2f(a); }
KL_DEVICE float expm1(float a) { return expm1f(a); }
KL_DEVICE float log2(float a) { return log2f(a); }
KL_DEVICE float log1p(float a) { return log1pf(a); }
KL_DEVICE float logb(float a) { return logbf(a); }
KL_DEVICE int ilogb(float a) { return ilogbf(a); }
KL_DEVICE float trunc(float a) { return truncf(a); }
KL_DEVICE float round(float a) { return roundf(a); }
KL_DEVICE float rint(float a) { return rintf(a); }
KL_DEVICE float nearbyint(float a) { return nearbyintf(a); }
KL_DEVICE long lrint(float a) { return lrintf(a); }
KL_DEVICE long lround(float a) { return lroundf(a); }
KL_DEVICE long long llrint(float a) { return llrintf(a); }
KL_DEVICE long long llround(float a) { return llroundf(a); }
KL_DEVICE float copysign(float a, float b) { return copysignf(a, b); }
KL_DEVICE float fdim(float a, float b) { return fdimf(a, b); }
KL_DEVICE float fmax(float a, float b) { return fmaxf(a, b); }
KL_DEVICE float fmin(float a, float b) { return fminf(a, b); }
KL_DEVICE float hypot(float a, float b) { return hypotf(a, b); }
KL_DEVICE float nextafter(float a, float b) { return nextafterf(a, b); }
KL_DEVICE float remainder(float a, float b) { return remainderf(a, b); }
KL_DEVICE float fma(float a, float b, float c) { return fmaf(a, b, c); }
KL_DEVICE float scalbn(float a, int n) { return scalbnf(a, n); }
KL_DEVICE float scalbln(float a, long n) { return scalblnf(a, n); }
KL_DEVICE float remquo(float a, float b, int* q) { return remquof(a, b, q); }
KL_DEVICE double nan(const char* tag) { return __nv_nan((const signed char*)tag); }
KL_DEVICE float nanf(const char* tag) { return __nv_nanf((const signed char*)tag); }
#undef KL_DEVICE

#include <__clang_cuda_cmath.h>
