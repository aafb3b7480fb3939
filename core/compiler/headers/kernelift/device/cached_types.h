// The types that accesses with cache hints exist for: SCALAR(type) and VECTOR(type, count, element) for each.
#pragma once
#define KL_CACHED_TYPES(SCALAR, VECTOR)     \
  SCALAR(char)                              \
  SCALAR(signed char)                       \
  SCALAR(unsigned char)                     \
  SCALAR(short)                             \
  SCALAR(unsigned short)                    \
  SCALAR(int)                               \
  SCALAR(unsigned int)                      \
  SCALAR(long)                              \
  SCALAR(unsigned long)                     \
  SCALAR(long long)                         \
  SCALAR(unsigned long long)                \
  SCALAR(float)                             \
  SCALAR(double)                            \
  VECTOR(char2, 2, char)                    \
  VECTOR(char4, 4, char)                    \
  VECTOR(uchar2, 2, unsigned char)          \
  VECTOR(uchar4, 4, unsigned char)          \
  VECTOR(short2, 2, short)                  \
  VECTOR(short4, 4, short)                  \
  VECTOR(ushort2, 2, unsigned short)        \
  VECTOR(ushort4, 4, unsigned short)        \
  VECTOR(int2, 2, int)                      \
  VECTOR(int4, 4, int)                      \
  VECTOR(uint2, 2, unsigned int)            \
  VECTOR(uint4, 4, unsigned int)            \
  VECTOR(longlong2, 2, long long)           \
  VECTOR(ulonglong2, 2, unsigned long long) \
  VECTOR(float2, 2, float)                  \
  VECTOR(float4, 4, float)                  \
  VECTOR(double2, 2, double)
