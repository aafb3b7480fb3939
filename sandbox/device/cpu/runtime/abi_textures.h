// The CUDA 13 runtime's binary interface for textures and surfaces (see abi.h; tests/abi_test.cpp compares these too).
#pragma once
#include "sandbox/device/cpu/runtime/abi.h"

namespace kernelift::cudart {

enum {
  cudaChannelFormatKindSigned = 0,
  cudaChannelFormatKindUnsigned = 1,
  cudaChannelFormatKindFloat = 2,
};
enum { kArrayLayered = 1, kArraySurfaceLoadStore = 2, kArrayCubemap = 4, kArrayTextureGather = 8 };
enum {
  cudaResourceTypeArray = 0,
  cudaResourceTypeMipmappedArray = 1,
  cudaResourceTypeLinear = 2,
  cudaResourceTypePitch2D = 3,
};
enum { cudaFilterModeLinear = 1, cudaReadModeNormalizedFloat = 1, cudaAddressModeBorder = 3 };

struct cudaResourceDesc {
  int resType;
  union {
    struct {
      cudaArray_t array;
    } array;
    struct {
      void* devPtr;
      cudaChannelFormatDesc desc;
      size_t sizeInBytes;
    } linear;
    struct {
      void* devPtr;
      cudaChannelFormatDesc desc;
      size_t width, height, pitchInBytes;
    } pitch2D;
    struct {
      int reserved[32];
    } reserved;
  } res;
  unsigned flags;
};
struct cudaTextureDesc {
  int addressMode[3];
  int filterMode, readMode, sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned maxAnisotropy;
  int mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  int disableTrilinearOptimization, seamlessCubemap;
};
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;

}  // namespace kernelift::cudart
