// make_float4 and the other make_ functions of vector types, for host and device.
#pragma once
#include "vectors.h"

#define KL_MAKE __host__ __device__ static __inline__
#define KL_MAKERS(name, element)                                    \
  KL_MAKE name##1 make_##name##1(element x) {                       \
    name##1 t;                                                      \
    t.x = x;                                                        \
    return t;                                                       \
  }                                                                 \
  KL_MAKE name##2 make_##name##2(element x, element y) {            \
    name##2 t;                                                      \
    t.x = x;                                                        \
    t.y = y;                                                        \
    return t;                                                       \
  }                                                                 \
  KL_MAKE name##3 make_##name##3(element x, element y, element z) { \
    name##3 t;                                                      \
    t.x = x;                                                        \
    t.y = y;                                                        \
    t.z = z;                                                        \
    return t;                                                       \
  }                                                                 \
  KL_MAKER4(name, element, )
#define KL_MAKER4(name, element, suffix)                                                       \
  KL_MAKE name##4##suffix make_##name##4##suffix(element x, element y, element z, element w) { \
    name##4##suffix t;                                                                         \
    t.x = x;                                                                                   \
    t.y = y;                                                                                   \
    t.z = z;                                                                                   \
    t.w = w;                                                                                   \
    return t;                                                                                  \
  }
#define KL_WIDE_MAKERS(name, element) \
  KL_MAKERS(name, element) KL_MAKER4(name, element, _16a) KL_MAKER4(name, element, _32a)

KL_MAKERS(char, signed char)
KL_MAKERS(uchar, unsigned char)
KL_MAKERS(short, short)
KL_MAKERS(ushort, unsigned short)
KL_MAKERS(int, int)
KL_MAKERS(uint, unsigned int)
KL_MAKERS(float, float)
KL_WIDE_MAKERS(long, long)
KL_WIDE_MAKERS(ulong, unsigned long)
KL_WIDE_MAKERS(longlong, long long)
KL_WIDE_MAKERS(ulonglong, unsigned long long)
KL_WIDE_MAKERS(double, double)

#undef KL_MAKE
#undef KL_MAKERS
#undef KL_MAKER4
#undef KL_WIDE_MAKERS
