// What nvcc's headers add to the host's own mathematics: functions that CUDA has and the C library lacks. Device code
// has its own; these are for host code of a CUDA source (and for __host__ __device__ functions when they run on the
// host).
#pragma once
#define KL_HOST static __inline__ __host__

KL_HOST double rsqrt(double x) { return 1.0 / sqrt(x); }
KL_HOST float rsqrtf(float x) { return 1.0f / sqrtf(x); }
KL_HOST float rsqrt(float x) { return rsqrtf(x); }
KL_HOST double rcbrt(double x) { return 1.0 / cbrt(x); }
KL_HOST float rcbrtf(float x) { return 1.0f / cbrtf(x); }
KL_HOST float rcbrt(float x) { return rcbrtf(x); }
KL_HOST double fdivide(double a, double b) { return a / b; }
KL_HOST float fdividef(float a, float b) { return a / b; }
KL_HOST float __fdividef(float a, float b) { return a / b; }
/// sin(πx): the reduction to [-1, 1] is exact, which is the function's point.
KL_HOST double sinpi(double x) { return sin(3.14159265358979323846 * (x - 2.0 * rint(x * 0.5))); }
KL_HOST float sinpif(float x) { return (float)sinpi((double)x); }
KL_HOST double cospi(double x) { return cos(3.14159265358979323846 * (x - 2.0 * rint(x * 0.5))); }
KL_HOST float cospif(float x) { return (float)cospi((double)x); }
KL_HOST void sincospi(double x, double* s, double* c) {
  *s = sinpi(x);
  *c = cospi(x);
}
KL_HOST void sincospif(float x, float* s, float* c) {
  *s = sinpif(x);
  *c = cospif(x);
}
KL_HOST double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }
KL_HOST float normcdff(float x) { return (float)normcdf((double)x); }

KL_HOST unsigned int umin(unsigned int a, unsigned int b) { return a < b ? a : b; }
KL_HOST unsigned int umax(unsigned int a, unsigned int b) { return a > b ? a : b; }
KL_HOST long long llmin(long long a, long long b) { return a < b ? a : b; }
KL_HOST long long llmax(long long a, long long b) { return a > b ? a : b; }
KL_HOST unsigned long long ullmin(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
KL_HOST unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a > b ? a : b; }
#undef KL_HOST
