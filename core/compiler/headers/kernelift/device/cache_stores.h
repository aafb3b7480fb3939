// The accesses with cache hints that clang's own headers do not have, as a model of the kernel can follow them: plain
// ones, but for stores that stream past the cache, which are marked for core/compiler/ptx.cpp. They change no result.
// Needs the vector types, which come from our headers or from the toolkit's.
#pragma once
#include "cached_types.h"

#define KL_DEVICE static __device__ __forceinline__
#define KL_HINTS(type)                                       \
  KL_DEVICE type __ldca(const type* p) { return *p; }        \
  KL_DEVICE type __ldlu(const type* p) { return *p; }        \
  KL_DEVICE void __stwb(type* p, type value) { *p = value; } \
  KL_DEVICE void __stcg(type* p, type value) { *p = value; }
#define KL_SCALAR_HINTS(type) \
  KL_HINTS(type)              \
  KL_DEVICE void __stcs(type* p, type value) { __builtin_nontemporal_store(value, p); }
#define KL_VECTOR_HINTS(type, count, element)                                   \
  KL_HINTS(type)                                                                \
  KL_DEVICE void __stcs(type* p, type value) {                                  \
    typedef element Vector __attribute__((ext_vector_type(count)));             \
    __builtin_nontemporal_store(__builtin_bit_cast(Vector, value), (Vector*)p); \
  }
KL_CACHED_TYPES(KL_SCALAR_HINTS, KL_VECTOR_HINTS)
#undef KL_HINTS
#undef KL_SCALAR_HINTS
#undef KL_VECTOR_HINTS
#undef KL_DEVICE
