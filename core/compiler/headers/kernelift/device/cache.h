// Loads and stores with cache hints, which change no result. __ldg is clang's invariant load (ld.global.nc); what
// __ldcs reads and __stcs writes is marked, and core/compiler/ptx.cpp gives it the operator; the others are plain
// accesses.
#pragma once
#include "../types/vectors.h"
#include "cache_stores.h"
#define KL_DEVICE static __device__ __forceinline__

#define KL_LDG(type, builtin, as) \
  KL_DEVICE type __ldg(const type* p) { return (type)__nvvm_ldg_##builtin((const as*)p); }
#define KL_LDG_VECTOR(type, count, element, builtin)                \
  KL_DEVICE type __ldg(const type* p) {                             \
    typedef element Vector __attribute__((ext_vector_type(count))); \
    Vector v = __nvvm_ldg_##builtin((const Vector*)p);              \
    return __builtin_bit_cast(type, v);                             \
  }
KL_LDG(char, c, char)
KL_LDG(signed char, c, char)
KL_LDG(unsigned char, uc, unsigned char)
KL_LDG(short, s, short)
KL_LDG(unsigned short, us, unsigned short)
KL_LDG(int, i, int)
KL_LDG(unsigned int, ui, unsigned int)
KL_LDG(long, l, long)
KL_LDG(unsigned long, ul, unsigned long)
KL_LDG(long long, ll, long long)
KL_LDG(unsigned long long, ull, unsigned long long)
KL_LDG(float, f, float)
KL_LDG(double, d, double)
KL_LDG_VECTOR(char2, 2, char, c2)
KL_LDG_VECTOR(char4, 4, char, c4)
KL_LDG_VECTOR(uchar2, 2, unsigned char, uc2)
KL_LDG_VECTOR(uchar4, 4, unsigned char, uc4)
KL_LDG_VECTOR(short2, 2, short, s2)
KL_LDG_VECTOR(short4, 4, short, s4)
KL_LDG_VECTOR(ushort2, 2, unsigned short, us2)
KL_LDG_VECTOR(ushort4, 4, unsigned short, us4)
KL_LDG_VECTOR(int2, 2, int, i2)
KL_LDG_VECTOR(int4, 4, int, i4)
KL_LDG_VECTOR(uint2, 2, unsigned int, ui2)
KL_LDG_VECTOR(uint4, 4, unsigned int, ui4)
KL_LDG_VECTOR(longlong2, 2, long long, ll2)
KL_LDG_VECTOR(ulonglong2, 2, unsigned long long, ull2)
KL_LDG_VECTOR(float2, 2, float, f2)
KL_LDG_VECTOR(float4, 4, float, f4)
KL_LDG_VECTOR(double2, 2, double, d2)
#undef KL_LDG
#undef KL_LDG_VECTOR

#define KL_HINTS(type)                                \
  KL_DEVICE type __ldcg(const type* p) { return *p; } \
  KL_DEVICE void __stwt(type* p, type value) { *p = value; }
// "Don't cache, fetch again": what volatile says.
#define KL_SCALAR_HINTS(type)                                                    \
  KL_HINTS(type)                                                                 \
  KL_DEVICE type __ldcs(const type* p) { return __builtin_nontemporal_load(p); } \
  KL_DEVICE type __ldcv(const type* p) { return *(const volatile type*)p; }
#define KL_VECTOR_HINTS(type, count, element)                       \
  KL_HINTS(type)                                                    \
  KL_DEVICE type __ldcs(const type* p) {                            \
    typedef element Vector __attribute__((ext_vector_type(count))); \
    Vector v = __builtin_nontemporal_load((const Vector*)p);        \
    return __builtin_bit_cast(type, v);                             \
  }                                                                 \
  KL_DEVICE type __ldcv(const type* p) {                            \
    typedef element Vector __attribute__((ext_vector_type(count))); \
    Vector v = *(const volatile Vector*)p;                          \
    return __builtin_bit_cast(type, v);                             \
  }
KL_CACHED_TYPES(KL_SCALAR_HINTS, KL_VECTOR_HINTS)
#undef KL_HINTS
#undef KL_SCALAR_HINTS
#undef KL_VECTOR_HINTS

#undef KL_DEVICE
