// The accesses with cache hints that clang's own headers do not have, as a model of the kernel can follow them: plain
// ones, but for stores that stream past the cache, which are marked for core/compiler/ptx.cpp. They change no result.
// Needs the vector types, which come from our headers or from the toolkit's.
#pragma once
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
KL_SCALAR_HINTS(char)
KL_SCALAR_HINTS(signed char)
KL_SCALAR_HINTS(unsigned char)
KL_SCALAR_HINTS(short)
KL_SCALAR_HINTS(unsigned short)
KL_SCALAR_HINTS(int)
KL_SCALAR_HINTS(unsigned int)
KL_SCALAR_HINTS(long)
KL_SCALAR_HINTS(unsigned long)
KL_SCALAR_HINTS(long long)
KL_SCALAR_HINTS(unsigned long long)
KL_SCALAR_HINTS(float)
KL_SCALAR_HINTS(double)
KL_VECTOR_HINTS(char2, 2, char)
KL_VECTOR_HINTS(char4, 4, char)
KL_VECTOR_HINTS(uchar2, 2, unsigned char)
KL_VECTOR_HINTS(uchar4, 4, unsigned char)
KL_VECTOR_HINTS(short2, 2, short)
KL_VECTOR_HINTS(short4, 4, short)
KL_VECTOR_HINTS(ushort2, 2, unsigned short)
KL_VECTOR_HINTS(ushort4, 4, unsigned short)
KL_VECTOR_HINTS(int2, 2, int)
KL_VECTOR_HINTS(int4, 4, int)
KL_VECTOR_HINTS(uint2, 2, unsigned int)
KL_VECTOR_HINTS(uint4, 4, unsigned int)
KL_VECTOR_HINTS(longlong2, 2, long long)
KL_VECTOR_HINTS(ulonglong2, 2, unsigned long long)
KL_VECTOR_HINTS(float2, 2, float)
KL_VECTOR_HINTS(float4, 4, float)
KL_VECTOR_HINTS(double2, 2, double)
#undef KL_HINTS
#undef KL_SCALAR_HINTS
#undef KL_VECTOR_HINTS
#undef KL_DEVICE
