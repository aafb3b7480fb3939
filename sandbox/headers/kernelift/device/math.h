// Device mathematics: clang's own wrappers over libdevice (__nv_*), which stay calls in the IR, and the C++ overloads.
// The order matters: forward declarations come before <cmath> so that its templates find device overloads.
#pragma once
#include <__clang_cuda_libdevice_declares.h>
#include <__clang_cuda_device_functions.h>
#include <__clang_cuda_math.h>

// Overloads by type that nvcc predeclares beyond the C++ library's.
#define KL_DEVICE static __device__ __forceinline__
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
#undef KL_DEVICE

#include <__clang_cuda_cmath.h>
