// Texture and surface fetches: declared, so that a source's error names the function, and refused when used.
#pragma once
#define KL_REFUSED \
  __attribute__((unavailable("texture and surface fetches are not supported by Kernelift's CPU device")))
#define KL_FETCH(name)                   \
  template <class T, class... Arguments> \
  __device__ T name(cudaTextureObject_t texture, Arguments... arguments) KL_REFUSED;
#if __cplusplus >= 201103L
KL_FETCH(tex1Dfetch)
KL_FETCH(tex1D)
KL_FETCH(tex2D)
KL_FETCH(tex3D)
KL_FETCH(tex1DLayered)
KL_FETCH(tex2DLayered)
KL_FETCH(texCubemap)
KL_FETCH(tex2DLod)
KL_FETCH(tex2Dgather)
KL_FETCH(surf1Dread)
KL_FETCH(surf2Dread)
KL_FETCH(surf3Dread)
template <class T, class... Arguments>
__device__ void surf1Dwrite(T value, Arguments... arguments) KL_REFUSED;
template <class T, class... Arguments>
__device__ void surf2Dwrite(T value, Arguments... arguments) KL_REFUSED;
template <class T, class... Arguments>
__device__ void surf3Dwrite(T value, Arguments... arguments) KL_REFUSED;
#endif
#undef KL_REFUSED
#undef KL_FETCH
