// HIP's vector types are CUDA's with arithmetic: element by element, between vectors and with a scalar. Templates, so that
// an application's own operator for one of the types comes before them. HIP's constructors are in types/vectors.h: a type
// cannot get them from outside.
#pragma once
#ifdef __cplusplus
#include <cuda_runtime.h>

template <class V> struct kernelift_lanes {};
template <class E, unsigned int n> struct kernelift_vector {};
template <class E, unsigned int n> using HIP_vector_type = typename kernelift_vector<E, n>::vector;
#define KL_LANES(name, type, n)                  \
  template <> struct kernelift_vector<type, n> { \
    typedef name vector;                         \
  };                                             \
  template <> struct kernelift_lanes<name> {     \
    typedef type element;                        \
    enum { count = n };                          \
  };
#define KL_LANES1234(name, type) KL_LANES(name##1, type, 1) KL_LANES(name##2, type, 2) KL_LANES(name##3, type, 3) KL_LANES(name##4, type, 4)
KL_LANES1234(char, signed char)
KL_LANES1234(uchar, unsigned char)
KL_LANES1234(short, short)
KL_LANES1234(ushort, unsigned short)
KL_LANES1234(int, int)
KL_LANES1234(uint, unsigned int)
KL_LANES1234(long, long)
KL_LANES1234(ulong, unsigned long)
KL_LANES1234(longlong, long long)
KL_LANES1234(ulonglong, unsigned long long)
KL_LANES1234(float, float)
KL_LANES1234(double, double)
#undef KL_LANES
#undef KL_LANES1234

/// Calls f(element of a, element of b) for each element.
template <int count> struct kernelift_each {
  template <class V, class W, class F> static __host__ __device__ __forceinline__ void of(V& a, const W& b, F f) {
    kernelift_each<count - 1>::of(a, b, f);
    f((&a.x)[count - 1], (&b.x)[count - 1]);
  }
};
template <> struct kernelift_each<0> {
  template <class V, class W, class F> static __host__ __device__ __forceinline__ void of(V&, const W&, F) {}
};

#define KL_HIP template <class V, class E = typename kernelift_lanes<V>::element> static __host__ __device__ __forceinline__
/// A scalar stands for a vector of itself. Its type is not deduced: float4 * 2 is fine.
#define KL_SCALAR typename kernelift_lanes<V>::element
template <class V> static __host__ __device__ __forceinline__ V kernelift_splat(KL_SCALAR value) {
  V all;
  kernelift_each<kernelift_lanes<V>::count>::of(all, all, [value] __host__ __device__(KL_SCALAR& e, const KL_SCALAR&) { e = value; });
  return all;
}
#define KL_OPERATOR(op)                                                                                              \
  KL_HIP V& operator op##=(V& a, const V& b) {                                                                       \
    kernelift_each<kernelift_lanes<V>::count>::of(a, b, [] __host__ __device__(E& x, const E& y) { x = (E)(x op y); }); \
    return a;                                                                                                        \
  }                                                                                                                  \
  KL_HIP V& operator op##=(V& a, KL_SCALAR b) { return a op##= kernelift_splat<V>(b); }                              \
  KL_HIP V operator op(V a, const V& b) { return a op##= b; }                                                        \
  KL_HIP V operator op(V a, KL_SCALAR b) { return a op##= kernelift_splat<V>(b); }                                   \
  KL_HIP V operator op(KL_SCALAR a, const V& b) {                                                                    \
    V all = kernelift_splat<V>(a);                                                                                   \
    return all op##= b;                                                                                              \
  }
KL_OPERATOR(+)
KL_OPERATOR(-)
KL_OPERATOR(*)
KL_OPERATOR(/)
KL_OPERATOR(%)
KL_OPERATOR(&)
KL_OPERATOR(|)
KL_OPERATOR(^)
KL_OPERATOR(<<)
KL_OPERATOR(>>)
KL_HIP V operator-(const V& a) {
  V minus = a;
  kernelift_each<kernelift_lanes<V>::count>::of(minus, a, [] __host__ __device__(E& x, const E& y) { x = (E)-y; });
  return minus;
}
KL_HIP V operator~(const V& a) { return a ^ kernelift_splat<V>((E)~E(0)); }
KL_HIP bool operator==(V a, const V& b) {
  bool equal = true;
  kernelift_each<kernelift_lanes<V>::count>::of(a, b, [&equal] __host__ __device__(E& x, const E& y) { equal = equal && x == y; });
  return equal;
}
KL_HIP bool operator!=(const V& a, const V& b) { return !(a == b); }
#undef KL_OPERATOR
#undef KL_HIP
#undef KL_SCALAR
#endif
