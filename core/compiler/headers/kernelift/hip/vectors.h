// HIP's vector types are CUDA's with arithmetic: element by element, between vectors and with a scalar. Templates, so
// that an application's own operator for one of the types comes before them. HIP's constructors are in types/vectors.h:
// a type cannot get them from outside.
#pragma once
#ifdef __cplusplus
#include <cuda_runtime.h>

template <class Vector>
struct kernelift_lanes {};
template <class Element, unsigned int n>
struct kernelift_vector {};
template <class Element, unsigned int n>
using HIP_vector_type = typename kernelift_vector<Element, n>::vector;
#define KL_LANES(name, type, n)      \
  template <>                        \
  struct kernelift_vector<type, n> { \
    typedef name vector;             \
  };                                 \
  template <>                        \
  struct kernelift_lanes<name> {     \
    typedef type element;            \
    enum { count = n };              \
  };
#define KL_LANES1234(name, type) \
  KL_LANES(name##1, type, 1) KL_LANES(name##2, type, 2) KL_LANES(name##3, type, 3) KL_LANES(name##4, type, 4)
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
template <int count>
struct kernelift_each {
  template <class Vector, class Other, class Function>
  static __host__ __device__ __forceinline__ void of(Vector& a, const Other& b, Function f) {
    kernelift_each<count - 1>::of(a, b, f);
    f((&a.x)[count - 1], (&b.x)[count - 1]);
  }
};
template <>
struct kernelift_each<0> {
  template <class Vector, class Other, class Function>
  static __host__ __device__ __forceinline__ void of(Vector&, const Other&, Function) {}
};

#define KL_HIP                                                                       \
  template <class Vector, class Element = typename kernelift_lanes<Vector>::element> \
  static __host__ __device__ __forceinline__
/// A scalar stands for a vector of itself. Its type is not deduced: float4 * 2 is fine.
#define KL_SCALAR typename kernelift_lanes<Vector>::element
template <class Vector>
static __host__ __device__ __forceinline__ Vector kernelift_splat(KL_SCALAR value) {
  Vector all;
  kernelift_each<kernelift_lanes<Vector>::count>::of(
      all, all, [value] __host__ __device__(KL_SCALAR & e, const KL_SCALAR&) { e = value; });
  return all;
}
#define KL_OPERATOR(op)                                                                                    \
  KL_HIP Vector& operator op## = (Vector & a, const Vector& b) {                                           \
    kernelift_each<kernelift_lanes<Vector>::count>::of(                                                    \
        a, b, [] __host__ __device__(Element & x, const Element& y) { x = (Element)(x op y); });           \
    return a;                                                                                              \
  }                                                                                                        \
  KL_HIP Vector& operator op## = (Vector & a, KL_SCALAR b) { return a op## = kernelift_splat<Vector>(b); } \
  KL_HIP Vector operator op(Vector a, const Vector& b) { return a op## = b; }                              \
  KL_HIP Vector operator op(Vector a, KL_SCALAR b) { return a op## = kernelift_splat<Vector>(b); }         \
  KL_HIP Vector operator op(KL_SCALAR a, const Vector& b) {                                                \
    Vector all = kernelift_splat<Vector>(a);                                                               \
    return all op## = b;                                                                                   \
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
KL_HIP Vector operator-(const Vector& a) {
  Vector minus = a;
  kernelift_each<kernelift_lanes<Vector>::count>::of(
      minus, a, [] __host__ __device__(Element & x, const Element& y) { x = (Element)-y; });
  return minus;
}
KL_HIP Vector operator~(const Vector& a) { return a ^ kernelift_splat<Vector>((Element)~Element(0)); }
KL_HIP bool operator==(Vector a, const Vector& b) {
  bool equal = true;
  kernelift_each<kernelift_lanes<Vector>::count>::of(
      a, b, [&equal] __host__ __device__(Element & x, const Element& y) { equal = equal && x == y; });
  return equal;
}
KL_HIP bool operator!=(const Vector& a, const Vector& b) { return !(a == b); }
#undef KL_OPERATOR
#undef KL_HIP
#undef KL_SCALAR
#endif
