// CUDA's vector types: plain structs with CUDA's sizes and alignments, and dim3.
// The alignments are those of the CUDA C++ Programming Guide's table of built-in vector types; applications pass these
// types by value between host and device, so they are part of the ABI. Arithmetic on them is the application's own.
#pragma once
#include "../qualifiers.h"

#if defined(__HIP__) && defined(__cplusplus) && __cplusplus >= 201103L
/// HIP's constructors: of every element, or of one value for all. The default one stays trivial, so that shared memory,
/// unions and calls take these types as they take C's.
#define KL_MAKE1(name, e) \
  name() = default;       \
  __host__ __device__ constexpr explicit name(e vx) : x(vx) {}
#define KL_MAKE2(name, e)                                                \
  name() = default;                                                      \
  __host__ __device__ constexpr explicit name(e all) : x(all), y(all) {} \
  __host__ __device__ constexpr name(e vx, e vy) : x(vx), y(vy) {}
#define KL_MAKE3(name, e)                                                        \
  name() = default;                                                              \
  __host__ __device__ constexpr explicit name(e all) : x(all), y(all), z(all) {} \
  __host__ __device__ constexpr name(e vx, e vy, e vz) : x(vx), y(vy), z(vz) {}
#define KL_MAKE4(name, e)                                                                \
  name() = default;                                                                      \
  __host__ __device__ constexpr explicit name(e all) : x(all), y(all), z(all), w(all) {} \
  __host__ __device__ constexpr name(e vx, e vy, e vz, e vw) : x(vx), y(vy), z(vz), w(vw) {}
#else
#define KL_MAKE1(name, e)
#define KL_MAKE2(name, e)
#define KL_MAKE3(name, e)
#define KL_MAKE4(name, e)
#endif

#define KL_VECTOR1(name, element) \
  typedef struct name##1 {        \
    element x;                    \
    KL_MAKE1(name##1, element)    \
  }                               \
  name##1;
#define KL_VECTOR2(name, element, align)                   \
  typedef struct __attribute__((aligned(align))) name##2 { \
    element x, y;                                          \
    KL_MAKE2(name##2, element)                             \
  }                                                        \
  name##2;
#define KL_VECTOR3(name, element) \
  typedef struct name##3 {        \
    element x, y, z;              \
    KL_MAKE3(name##3, element)    \
  }                               \
  name##3;
#define KL_VECTOR4(name, element, align, suffix)                   \
  typedef struct __attribute__((aligned(align))) name##4##suffix { \
    element x, y, z, w;                                            \
    KL_MAKE4(name##4##suffix, element)                             \
  }                                                                \
  name##4##suffix;
#define KL_VECTORS(name, element, align2, align4) \
  KL_VECTOR1(name, element)                       \
  KL_VECTOR2(name, element, align2) KL_VECTOR3(name, element) KL_VECTOR4(name, element, align4, )
/// 32-byte vectors come with both alignments since CUDA 13; the plain name has 16.
#define KL_WIDE_VECTORS(name, element) \
  KL_VECTORS(name, element, 16, 16)    \
  KL_VECTOR4(name, element, 16, _16a)  \
  KL_VECTOR4(name, element, 32, _32a)

KL_VECTORS(char, signed char, 2, 4)
KL_VECTORS(uchar, unsigned char, 2, 4)
KL_VECTORS(short, short, 4, 8)
KL_VECTORS(ushort, unsigned short, 4, 8)
KL_VECTORS(int, int, 8, 16)
KL_VECTORS(uint, unsigned int, 8, 16)
KL_VECTORS(float, float, 8, 16)
KL_WIDE_VECTORS(long, long)
KL_WIDE_VECTORS(ulong, unsigned long)
KL_WIDE_VECTORS(longlong, long long)
KL_WIDE_VECTORS(ulonglong, unsigned long long)
KL_WIDE_VECTORS(double, double)

#undef KL_MAKE1
#undef KL_MAKE2
#undef KL_MAKE3
#undef KL_MAKE4
#undef KL_VECTOR1
#undef KL_VECTOR2
#undef KL_VECTOR3
#undef KL_VECTOR4
#undef KL_VECTORS
#undef KL_WIDE_VECTORS

/// Sizes of a grid or block; what is not given is 1.
typedef struct dim3 {
  unsigned int x, y, z;
#ifdef __cplusplus
#if __cplusplus >= 201103L
  __host__ __device__ constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1)
      : x(vx), y(vy), z(vz) {}
  __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  __host__ __device__ constexpr operator uint3() const { return uint3{x, y, z}; }
#else
  __host__ __device__ dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {}
  __host__ __device__ dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  __host__ __device__ operator uint3() const {
    uint3 t;
    t.x = x;
    t.y = y;
    t.z = z;
    return t;
  }
#endif
#endif
} dim3;
