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
#define KERNELIFT_SPECIAL_1(name)   \
  float name##f(float);             \
  long double name##l(long double); \
  template <class _Tp>              \
  typename __gnu_cxx::__promote<_Tp>::__type name(_Tp);
#define KERNELIFT_SPECIAL_2(name)                \
  float name##f(float, float);                   \
  long double name##l(long double, long double); \
  template <class _Tp, class _Up>                \
  typename __gnu_cxx::__promote_2<_Tp, _Up>::__type name(_Tp, _Up);
#define KERNELIFT_SPECIAL_3(name)                             \
  float name##f(float, float, float);                         \
  long double name##l(long double, long double, long double); \
  template <class _Tp, class _Up, class _Vp>                  \
  typename __gnu_cxx::__promote_3<_Tp, _Up, _Vp>::__type name(_Tp, _Up, _Vp);
#define KERNELIFT_SPECIAL_N(name)             \
  float name##f(unsigned, float);             \
  long double name##l(unsigned, long double); \
  template <class _Tp>                        \
  typename __gnu_cxx::__promote<_Tp>::__type name(unsigned, _Tp);
#define KERNELIFT_SPECIAL_NM(name)                      \
  float name##f(unsigned, unsigned, float);             \
  long double name##l(unsigned, unsigned, long double); \
  template <class _Tp>                                  \
  typename __gnu_cxx::__promote<_Tp>::__type name(unsigned, unsigned, _Tp);
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
template <class _Tp, class _Up, class _Vp>
typename __promote_3<_Tp, _Up, _Vp>::__type conf_hyperg(_Tp, _Up, _Vp);
template <class _Tp, class _Up, class _Vp, class _Wp>
typename __promote_4<_Tp, _Up, _Vp, _Wp>::__type hyperg(_Tp, _Up, _Vp, _Wp);
float conf_hypergf(float, float, float);
long double conf_hypergl(long double, long double, long double);
float hypergf(float, float, float, float);
long double hypergl(long double, long double, long double, long double);
}  // namespace __gnu_cxx
#endif
