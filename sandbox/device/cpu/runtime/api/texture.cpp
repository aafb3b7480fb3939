// Arrays, texture objects and surface objects; copies to and from arrays are in copy.cpp.
#include <algorithm>

#include "sandbox/device/cpu/runtime/errors.h"
#include "sandbox/device/cpu/runtime/launch/launcher.h"
#include "sandbox/device/cpu/runtime/memory/textures.h"
#include "sandbox/device/cpu/runtime/order/stream.h"
#include "sandbox/device/cpu/runtime/state.h"

using namespace kernelift::cudart;

namespace {

/// What kernels may still read goes when none is running.
template <class Release>
cudaError_t release(const Release& one) {
  wait_for_callbacks(nullptr);
  auto lock_launches = lock_out_launches();
  StateLock lock;
  return one();
}

cudaError_t resource_of(cudaResourceDesc* resource, unsigned long long handle, kl_texture_use use) {
  StateLock lock;
  const TextureObject* object = find_object(handle, use);
  if (!resource || !object) return cudaErrorInvalidValue;
  *resource = object->resource;
  return cudaSuccess;
}

}  // namespace

KL_API cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, int kind) { return {x, y, z, w, kind}; }

KL_API cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent,
                                     unsigned flags) {
  KL_ENTER();
  if (!array || !format) return leave(cudaErrorInvalidValue);
  StateLock lock;
  return leave(make_array(array, *format, extent, flags));
}
KL_API cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width, size_t height,
                                   unsigned flags) {
  return cudaMalloc3DArray(array, format, {width, height, 0}, flags);
}
KL_API cudaError_t cudaFreeArray(cudaArray_t array) {
  KL_ENTER();
  if (!array) return cudaSuccess;
  return leave(release([&] { return free_array(array); }));
}

KL_API cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags,
                                    cudaArray_t handle) {
  KL_ENTER();
  StateLock lock;
  const Array* array = find_array(handle);
  if (!array) return leave(cudaErrorInvalidResourceHandle);
  if (format) *format = array->format;
  if (extent) *extent = {array->shape.width, array->shape.height, array->shape.depth};
  if (flags) *flags = array->shape.array_flags;
  return cudaSuccess;
}
KL_API cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_t array) {
  if (!format) return leave(cudaErrorInvalidValue);
  return cudaArrayGetInfo(format, nullptr, nullptr, array);
}

KL_API cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                           const cudaTextureDesc* description, const void* view) {
  KL_ENTER();
  if (!texture || !resource || !description) return leave(cudaErrorInvalidValue);
  if (view) return leave(not_supported("cudaCreateTextureObject with a resource view"));
  StateLock lock;
  return leave(make_object(texture, *resource, description));
}
KL_API cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* surface, const cudaResourceDesc* resource) {
  KL_ENTER();
  if (!surface || !resource) return leave(cudaErrorInvalidValue);
  StateLock lock;
  return leave(make_object(surface, *resource, nullptr));
}
KL_API cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
  KL_ENTER();
  return leave(release([&] { return free_object(texture, KL_TEXTURE) ? cudaSuccess : cudaErrorInvalidValue; }));
}
KL_API cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface) {
  KL_ENTER();
  return leave(release([&] { return free_object(surface, KL_SURFACE) ? cudaSuccess : cudaErrorInvalidValue; }));
}
KL_API cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource, cudaTextureObject_t texture) {
  KL_ENTER();
  return leave(resource_of(resource, texture, KL_TEXTURE));
}
KL_API cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* resource, cudaSurfaceObject_t surface) {
  KL_ENTER();
  return leave(resource_of(resource, surface, KL_SURFACE));
}
KL_API cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* description, cudaTextureObject_t texture) {
  KL_ENTER();
  StateLock lock;
  const TextureObject* object = find_object(texture, KL_TEXTURE);
  if (!description || !object) return leave(cudaErrorInvalidValue);
  *description = object->description;
  return cudaSuccess;
}
