// Filling device memory with a byte, linear, by rows and by boxes.
#include <cstring>

#include "sandbox/device/cpu/runtime/api/alias.h"
#include "sandbox/device/cpu/runtime/errors.h"
#include "sandbox/device/cpu/runtime/memory/ranges.h"
#include "sandbox/device/cpu/runtime/order/stream.h"

using namespace kernelift::cudart;

KL_API cudaError_t cudaMemsetAsync(void* pointer, int value, size_t count, cudaStream_t stream) {
  KL_ENTER();
  if (cudaError_t error = check_device(pointer, count)) return leave(error);
  return leave(in_stream(stream, NodeType::Memset, [=] {
    if (count > 0) std::memset(pointer, value, count);
    return cudaSuccess;
  }));
}
KL_PTSZ(cudaMemsetAsync);
KL_API cudaError_t cudaMemset(void* pointer, int value, size_t count) {
  return cudaMemsetAsync(pointer, value, count, kLegacyStream);
}
KL_PTDS(cudaMemset);

KL_API cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                                     cudaStream_t stream) {
  KL_ENTER();
  if (width > pitch) return leave(cudaErrorInvalidValue);
  if (cudaError_t error = check_device(pointer, rows_span(pitch, width, height))) return leave(error);
  return leave(in_stream(stream, NodeType::Memset, [=] {
    for (size_t row = 0; row < height; ++row) std::memset(static_cast<char*>(pointer) + row * pitch, value, width);
    return cudaSuccess;
  }));
}
KL_PTSZ(cudaMemset2DAsync);
KL_API cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  return cudaMemset2DAsync(pointer, pitch, value, width, height, kLegacyStream);
}
KL_PTDS(cudaMemset2D);

KL_API cudaError_t cudaMemset3DAsync(cudaPitchedPtr box, int value, cudaExtent extent, cudaStream_t stream) {
  KL_ENTER();
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return cudaSuccess;
  size_t slice = box.pitch * box.ysize;
  if (extent.width > box.pitch || extent.height > box.ysize) return leave(cudaErrorInvalidValue);
  size_t span = slice * (extent.depth - 1) + rows_span(box.pitch, extent.width, extent.height);
  if (cudaError_t error = check_device(box.ptr, span)) return leave(error);
  return leave(in_stream(stream, NodeType::Memset, [=] {
    for (size_t z = 0; z < extent.depth; ++z)
      for (size_t y = 0; y < extent.height; ++y)
        std::memset(static_cast<char*>(box.ptr) + z * slice + y * box.pitch, value, extent.width);
    return cudaSuccess;
  }));
}
KL_PTSZ(cudaMemset3DAsync);
KL_API cudaError_t cudaMemset3D(cudaPitchedPtr box, int value, cudaExtent extent) {
  return cudaMemset3DAsync(box, value, extent, kLegacyStream);
}
KL_PTDS(cudaMemset3D);
