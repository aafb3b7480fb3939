// Host overloads of min and max, which nvcc predeclares and clang's wrapper leaves to the device.
#pragma once
#define KL_HOST(A, B, R)                                                           \
  static __inline__ __host__ R min(A a, B b) { return (R)a < (R)b ? (R)a : (R)b; } \
  static __inline__ __host__ R max(A a, B b) { return (R)a > (R)b ? (R)a : (R)b; }
KL_HOST(int, int, int)
KL_HOST(unsigned int, unsigned int, unsigned int)
KL_HOST(int, unsigned int, unsigned int)
KL_HOST(unsigned int, int, unsigned int)
KL_HOST(long, long, long)
KL_HOST(unsigned long, unsigned long, unsigned long)
KL_HOST(long long, long long, long long)
KL_HOST(unsigned long long, unsigned long long, unsigned long long)
#undef KL_HOST
#define KL_HOST(A, B, R, suffix)                                                  \
  static __inline__ __host__ R min(A a, B b) { return fmin##suffix((R)a, (R)b); } \
  static __inline__ __host__ R max(A a, B b) { return fmax##suffix((R)a, (R)b); }
KL_HOST(float, float, float, f)
KL_HOST(double, double, double, )
KL_HOST(float, double, double, )
KL_HOST(double, float, double, )
#undef KL_HOST
