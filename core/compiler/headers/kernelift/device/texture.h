// Texture fetches and surface accesses. Each is one operation of clang's own header, so that code compiled with these
// headers and with the toolkit's is the same. What the operations name but the CPU device lacks (cubemaps, residency)
// is refused by name where a kernel uses it.
#pragma once
#if __cplusplus >= 201103L
// Its one name that an application may well define.
#pragma push_macro("N")
#undef N
#include <__clang_cuda_texture_intrinsics.h>
#pragma pop_macro("N")

// In both forms: the value as the result, or put where a pointer leads.
#define KL_FETCH(name, operation, parameters, arguments)              \
  template <class T>                                                  \
  static __device__ void name(T* to, KL_PARAMETERS parameters) {      \
    __nv_tex_surf_handler(operation, to, KL_ARGUMENTS arguments);     \
  }                                                                   \
  template <class T>                                                  \
  static __device__ T name(KL_PARAMETERS parameters) {                \
    T value;                                                          \
    __nv_tex_surf_handler(operation, &value, KL_ARGUMENTS arguments); \
    return value;                                                     \
  }
#define KL_PARAMETERS(...) cudaTextureObject_t texture, __VA_ARGS__
#define KL_ARGUMENTS(...) texture, __VA_ARGS__
KL_FETCH(tex1Dfetch, "__itex1Dfetch", (int x), (x))
KL_FETCH(tex1D, "__itex1D", (float x), (x))
KL_FETCH(tex2D, "__itex2D", (float x, float y), (x, y))
KL_FETCH(tex3D, "__itex3D", (float x, float y, float z), (x, y, z))
KL_FETCH(tex1DLayered, "__itex1DLayered", (float x, int layer), (x, layer))
KL_FETCH(tex2DLayered, "__itex2DLayered", (float x, float y, int layer), (x, y, layer))
KL_FETCH(texCubemap, "__itexCubemap", (float x, float y, float z), (x, y, z))
KL_FETCH(texCubemapLayered, "__itexCubemapLayered", (float x, float y, float z, int layer), (x, y, z, layer))
KL_FETCH(tex2Dgather, "__itex2Dgather", (float x, float y, int channel = 0), (x, y, channel))
KL_FETCH(tex1DLod, "__itex1DLod", (float x, float level), (x, level))
KL_FETCH(tex2DLod, "__itex2DLod", (float x, float y, float level), (x, y, level))
KL_FETCH(tex3DLod, "__itex3DLod", (float x, float y, float z, float level), (x, y, z, level))
KL_FETCH(tex1DLayeredLod, "__itex1DLayeredLod", (float x, int layer, float level), (x, layer, level))
KL_FETCH(tex2DLayeredLod, "__itex2DLayeredLod", (float x, float y, int layer, float level), (x, y, layer, level))
KL_FETCH(tex1DGrad, "__itex1DGrad", (float x, float dx, float dy), (x, dx, dy))
KL_FETCH(tex2DGrad, "__itex2DGrad_v2", (float x, float y, float2 dx, float2 dy), (x, y, &dx, &dy))
KL_FETCH(tex3DGrad, "__itex3DGrad_v2", (float x, float y, float z, float4 dx, float4 dy), (x, y, z, &dx, &dy))
KL_FETCH(tex1DLayeredGrad, "__itex1DLayeredGrad", (float x, int layer, float dx, float dy), (x, layer, dx, dy))
KL_FETCH(tex2DLayeredGrad, "__itex2DLayeredGrad_v2", (float x, float y, int layer, float2 dx, float2 dy),
         (x, y, layer, &dx, &dy))
#undef KL_PARAMETERS
#undef KL_ARGUMENTS

// x counts bytes.
#define KL_PARAMETERS(...) \
  cudaSurfaceObject_t surface, __VA_ARGS__, cudaSurfaceBoundaryMode boundary = cudaBoundaryModeTrap
#define KL_ARGUMENTS(...) surface, __VA_ARGS__, boundary
#define KL_SURFACE(shape, parameters, arguments)                                        \
  KL_FETCH(surf##shape##read, "__isurf" #shape "read", parameters, arguments)           \
  template <class T>                                                                    \
  static __device__ void surf##shape##write(T value, KL_PARAMETERS parameters) {        \
    __nv_tex_surf_handler("__isurf" #shape "write_v2", &value, KL_ARGUMENTS arguments); \
  }
KL_SURFACE(1D, (int x), (x))
KL_SURFACE(2D, (int x, int y), (x, y))
KL_SURFACE(3D, (int x, int y, int z), (x, y, z))
KL_SURFACE(1DLayered, (int x, int layer), (x, layer))
KL_SURFACE(2DLayered, (int x, int y, int layer), (x, y, layer))
KL_SURFACE(Cubemap, (int x, int y, int face), (x, y, face))
KL_SURFACE(CubemapLayered, (int x, int y, int face), (x, y, face))
#undef KL_PARAMETERS
#undef KL_ARGUMENTS
#undef KL_SURFACE
#undef KL_FETCH
#endif
