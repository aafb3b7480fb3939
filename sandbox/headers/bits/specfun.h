// Stands before the C++ library's header of this name, which <cmath> includes since C++17: Bessel functions, zeta and
// their like, whose definitions are a fifth of all that a device compile reads. No GPU code can call them (they are the
// host's), but host code in the same file may, and the device pass has to understand it: there they are only declared.
// Every other compile gets the library's own header.
#ifndef __CUDA_ARCH__
#include_next <bits/specfun.h>
#else
#pragma once
#include <bits/stl_algobase.h>
#include <limits>
#include <type_traits>

namespace std {
#define KERNELIFT_SPECIAL_1(name)                                   \
  float name##f(float);                                             \
  long double name##l(long double);                                 \
  template <class T>                                                \
  typename __gnu_cxx::__promote<T>::__type name(T);
#define KERNELIFT_SPECIAL_2(name)                                   \
  float name##f(float, float);                                      \
  long double name##l(long double, long double);                    \
  template <class T, class U>                                       \
  typename __gnu_cxx::__promote_2<T, U>::__type name(T, U);
#define KERNELIFT_SPECIAL_3(name)                                   \
  float name##f(float, float, float);                               \
  long double name##l(long double, long double, long double);       \
  template <class T, class U, class V>                              \
  typename __gnu_cxx::__promote_3<T, U, V>::__type name(T, U, V);
#define KERNELIFT_SPECIAL_N(name)                                   \
  float name##f(unsigned, float);                                   \
  long double name##l(unsigned, long double);                       \
  template <class T>                                                \
  typename __gnu_cxx::__promote<T>::__type name(unsigned, T);
#define KERNELIFT_SPECIAL_NM(name)                                  \
  float name##f(unsigned, unsigned, float);                         \
  long double name##l(unsigned, unsigned, long double);             \
  template <class T>                                                \
  typename __gnu_cxx::__promote<T>::__type name(unsigned, unsigned, T);
KERNELIFT_SPECIAL_NM(assoc_laguerre)
KERNELIFT_SPECIAL_NM(assoc_legendre)
KERNELIFT_SPECIAL_2(beta)
KERNELIFT_SPECIAL_1(comp_ellint_1)
KERNELIFT_SPECIAL_1(comp_ellint_2)
KERNELIFT_SPECIAL_2(comp_ellint_3)
KERNELIFT_SPECIAL_2(cyl_bessel_i)
KERNELIFT_SPECIAL_2(cyl_bessel_j)
KERNELIFT_SPECIAL_2(cyl_bessel_k)
KERNELIFT_SPECIAL_2(cyl_neumann)
KERNELIFT_SPECIAL_2(ellint_1)
KERNELIFT_SPECIAL_2(ellint_2)
KERNELIFT_SPECIAL_3(ellint_3)
KERNELIFT_SPECIAL_1(expint)
KERNELIFT_SPECIAL_N(hermite)
KERNELIFT_SPECIAL_N(laguerre)
KERNELIFT_SPECIAL_N(legendre)
KERNELIFT_SPECIAL_1(riemann_zeta)
KERNELIFT_SPECIAL_N(sph_bessel)
KERNELIFT_SPECIAL_NM(sph_legendre)
KERNELIFT_SPECIAL_N(sph_neumann)
#undef KERNELIFT_SPECIAL_1
#undef KERNELIFT_SPECIAL_2
#undef KERNELIFT_SPECIAL_3
#undef KERNELIFT_SPECIAL_N
#undef KERNELIFT_SPECIAL_NM
}  // namespace std

namespace __gnu_cxx {
template <class A, class B, class C>
typename __promote_3<A, B, C>::__type conf_hyperg(A, B, C);
template <class A, class B, class C, class D>
typename __promote_4<A, B, C, D>::__type hyperg(A, B, C, D);
float conf_hypergf(float, float, float);
long double conf_hypergl(long double, long double, long double);
float hypergf(float, float, float, float);
long double hypergl(long double, long double, long double, long double);
}  // namespace __gnu_cxx
#endif
