// min and max as nvcc predeclares them in the global namespace, for host and device: each pair of integer types with
// the type that the usual conversions give, float, double and their mixtures. Floating forms are fmin and fmax: NaN
// loses. (int, int) has a device overload of clang's already.
#pragma once

#define KL_INLINE static __inline__ __attribute__((always_inline))
#define KL_INTEGER(where, A, B, R)                                      \
  KL_INLINE where R min(A a, B b) { return (R)a < (R)b ? (R)a : (R)b; } \
  KL_INLINE where R max(A a, B b) { return (R)a > (R)b ? (R)a : (R)b; }
#define KL_FLOATING(A, B, R, suffix)                                                 \
  KL_INLINE __host__ __device__ R min(A a, B b) { return fmin##suffix((R)a, (R)b); } \
  KL_INLINE __host__ __device__ R max(A a, B b) { return fmax##suffix((R)a, (R)b); }

KL_INTEGER(__host__, int, int, int)
KL_INTEGER(__host__ __device__, unsigned int, unsigned int, unsigned int)
KL_INTEGER(__host__ __device__, int, unsigned int, unsigned int)
KL_INTEGER(__host__ __device__, unsigned int, int, unsigned int)
KL_INTEGER(__host__ __device__, long, long, long)
KL_INTEGER(__host__ __device__, unsigned long, unsigned long, unsigned long)
KL_INTEGER(__host__ __device__, long, unsigned long, unsigned long)
KL_INTEGER(__host__ __device__, unsigned long, long, unsigned long)
KL_INTEGER(__host__ __device__, long long, long long, long long)
KL_INTEGER(__host__ __device__, unsigned long long, unsigned long long, unsigned long long)
KL_INTEGER(__host__ __device__, long long, unsigned long long, unsigned long long)
KL_INTEGER(__host__ __device__, unsigned long long, long long, unsigned long long)
KL_FLOATING(float, float, float, f)
KL_FLOATING(double, double, double, )
KL_FLOATING(float, double, double, )
KL_FLOATING(double, float, double, )

#undef KL_INLINE
#undef KL_INTEGER
#undef KL_FLOATING
