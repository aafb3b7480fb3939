// Runtime API: arrays, textures and surfaces. What device code does with them is in device/texture.h.
#pragma once
#include "../types/handles.h"

enum cudaTextureAddressMode {
  cudaAddressModeWrap = 0,
  cudaAddressModeClamp = 1,
  cudaAddressModeMirror = 2,
  cudaAddressModeBorder = 3
};
enum cudaTextureFilterMode { cudaFilterModePoint = 0, cudaFilterModeLinear = 1 };
enum cudaTextureReadMode { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero = 0, cudaBoundaryModeClamp = 1, cudaBoundaryModeTrap = 2 };
enum cudaResourceType {
  cudaResourceTypeArray = 0,
  cudaResourceTypeMipmappedArray = 1,
  cudaResourceTypeLinear = 2,
  cudaResourceTypePitch2D = 3
};
enum cudaResourceViewFormat { cudaResViewFormatNone = 0 };
struct cudaResourceDesc {
  enum cudaResourceType resType;
  union {
    struct {
      cudaArray_t array;
    } array;
    struct {
      cudaMipmappedArray_t mipmap;
    } mipmap;
    struct {
      void* devPtr;
      struct cudaChannelFormatDesc desc;
      size_t sizeInBytes;
    } linear;
    struct {
      void* devPtr;
      struct cudaChannelFormatDesc desc;
      size_t width, height, pitchInBytes;
    } pitch2D;
    struct {
      int reserved[32];
    } reserved;
  } res;
  unsigned int flags;
};
struct cudaResourceViewDesc {
  enum cudaResourceViewFormat format;
  size_t width, height, depth;
  unsigned int firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
  unsigned int reserved[16];
};
struct cudaTextureDesc {
  enum cudaTextureAddressMode addressMode[3];
  enum cudaTextureFilterMode filterMode;
  enum cudaTextureReadMode readMode;
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned int maxAnisotropy;
  enum cudaTextureFilterMode mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  int disableTrilinearOptimization, seamlessCubemap;
};
#define cudaArrayDefault 0x00
#define cudaArrayLayered 0x01
#define cudaArraySurfaceLoadStore 0x02
#define cudaArrayCubemap 0x04
#define cudaArrayTextureGather 0x08

#ifdef __cplusplus
extern "C" {
#endif
struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind f);
cudaError_t cudaMallocArray(cudaArray_t* array, const struct cudaChannelFormatDesc* desc, size_t width,
                            size_t height __dv(0), unsigned int flags __dv(0));
cudaError_t cudaMalloc3DArray(cudaArray_t* array, const struct cudaChannelFormatDesc* desc, struct cudaExtent extent,
                              unsigned int flags __dv(0));
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc* desc, struct cudaExtent* extent, unsigned int* flags,
                             cudaArray_t array);
cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc* desc, cudaArray_const_t array);
cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t w_offset, size_t h_offset, const void* from, size_t size,
                              enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t w_offset, size_t h_offset, const void* from, size_t size,
                                   enum cudaMemcpyKind kind, cudaStream_t stream __dv(0));
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t w_offset, size_t h_offset, size_t size,
                                enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyFromArrayAsync(void* to, cudaArray_const_t from, size_t w_offset, size_t h_offset, size_t size,
                                     enum cudaMemcpyKind kind, cudaStream_t stream __dv(0));
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t w_offset, size_t h_offset, const void* from, size_t pitch,
                                size_t width, size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t w_offset, size_t h_offset, const void* from, size_t pitch,
                                     size_t width, size_t height, enum cudaMemcpyKind kind,
                                     cudaStream_t stream __dv(0));
cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t w_offset, size_t h_offset,
                                  size_t width, size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t from, size_t w_offset, size_t h_offset,
                                       size_t width, size_t height, enum cudaMemcpyKind kind,
                                       cudaStream_t stream __dv(0));
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_w_offset, size_t to_h_offset, cudaArray_const_t from,
                                     size_t from_w_offset, size_t from_h_offset, size_t width, size_t height,
                                     enum cudaMemcpyKind kind __dv(cudaMemcpyDeviceToDevice));
cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_w_offset, size_t to_h_offset, cudaArray_const_t from,
                                   size_t from_w_offset, size_t from_h_offset, size_t size,
                                   enum cudaMemcpyKind kind __dv(cudaMemcpyDeviceToDevice));
cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const struct cudaResourceDesc* resource,
                                    const struct cudaTextureDesc* description, const struct cudaResourceViewDesc* view);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture);
cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc* resource, cudaTextureObject_t texture);
cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc* description, cudaTextureObject_t texture);
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* surface, const struct cudaResourceDesc* resource);
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface);
cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc* resource, cudaSurfaceObject_t surface);
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* array, const struct cudaChannelFormatDesc* desc,
                                     struct cudaExtent extent, unsigned int levels, unsigned int flags __dv(0));
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array);
cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* array, cudaMipmappedArray_const_t mipmap, unsigned int level);
#ifdef __cplusplus
}

static inline struct cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) {
  struct cudaExtent extent = {width, height, depth};
  return extent;
}
static inline struct cudaPos make_cudaPos(size_t x, size_t y, size_t z) {
  struct cudaPos position = {x, y, z};
  return position;
}
static inline struct cudaPitchedPtr make_cudaPitchedPtr(void* pointer, size_t pitch, size_t xsize, size_t ysize) {
  struct cudaPitchedPtr pitched = {pointer, pitch, xsize, ysize};
  return pitched;
}

/// cudaCreateChannelDesc<float4>() and the like.
static inline struct cudaChannelFormatDesc cudaCreateChannelDescHalf() {
  return cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindFloat);
}
template <class T>
inline struct cudaChannelFormatDesc cudaCreateChannelDesc() {
  return cudaCreateChannelDesc(0, 0, 0, 0, cudaChannelFormatKindNone);
}
#define KL_CHANNELS(type, element, count, kind)                                                          \
  template <>                                                                                            \
  inline struct cudaChannelFormatDesc cudaCreateChannelDesc<type>() {                                    \
    const int bits = 8 * sizeof(element);                                                                \
    return cudaCreateChannelDesc(bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 3 ? bits : 0, \
                                 cudaChannelFormatKind##kind);                                           \
  }
#define KL_CHANNEL_FAMILY(name, element, kind) \
  KL_CHANNELS(element, element, 1, kind)       \
  KL_CHANNELS(name##1, element, 1, kind)       \
  KL_CHANNELS(name##2, element, 2, kind)       \
  KL_CHANNELS(name##4, element, 4, kind)
KL_CHANNEL_FAMILY(char, signed char, Signed)
KL_CHANNEL_FAMILY(uchar, unsigned char, Unsigned)
KL_CHANNEL_FAMILY(short, short, Signed)
KL_CHANNEL_FAMILY(ushort, unsigned short, Unsigned)
KL_CHANNEL_FAMILY(int, int, Signed)
KL_CHANNEL_FAMILY(uint, unsigned int, Unsigned)
KL_CHANNEL_FAMILY(float, float, Float)
#undef KL_CHANNELS
#undef KL_CHANNEL_FAMILY
#endif
