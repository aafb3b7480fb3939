// The accesses with cache hints that clang's own headers do not have: plain ones, which a model of the kernel can
// follow. They change no result; code whose time counts is compiled by nvcc, where that is at hand. Needs the vector
// types, which come from our headers or from the toolkit's.
#pragma once
#define KL_DEVICE static __device__ __forceinline__
#define KL_HINTS(type)                                       \
  KL_DEVICE type __ldca(const type* p) { return *p; }        \
  KL_DEVICE type __ldlu(const type* p) { return *p; }        \
  KL_DEVICE void __stwb(type* p, type value) { *p = value; } \
  KL_DEVICE void __stcg(type* p, type value) { *p = value; } \
  KL_DEVICE void __stcs(type* p, type value) { *p = value; }
KL_HINTS(char)
KL_HINTS(signed char)
KL_HINTS(unsigned char)
KL_HINTS(short)
KL_HINTS(unsigned short)
KL_HINTS(int)
KL_HINTS(unsigned int)
KL_HINTS(long)
KL_HINTS(unsigned long)
KL_HINTS(long long)
KL_HINTS(unsigned long long)
KL_HINTS(float)
KL_HINTS(double)
KL_HINTS(char2)
KL_HINTS(char4)
KL_HINTS(uchar2)
KL_HINTS(uchar4)
KL_HINTS(short2)
KL_HINTS(short4)
KL_HINTS(ushort2)
KL_HINTS(ushort4)
KL_HINTS(int2)
KL_HINTS(int4)
KL_HINTS(uint2)
KL_HINTS(uint4)
KL_HINTS(longlong2)
KL_HINTS(ulonglong2)
KL_HINTS(float2)
KL_HINTS(float4)
KL_HINTS(double2)
#undef KL_HINTS
#undef KL_DEVICE
