// Copies: linear, two- and three-dimensional, between peers. Each is a memmove once the ranges are checked; the kinds
// are held against whose memory it is (ranges.h).
#include <cstring>

#include "sandbox/device/cpu/runtime/api/alias.h"
#include "sandbox/device/cpu/runtime/errors.h"
#include "sandbox/device/cpu/runtime/memory/ranges.h"
#include "sandbox/device/cpu/runtime/order/stream.h"

using namespace kernelift::cudart;

namespace {

cudaError_t copy(void* to, const void* from, size_t count, cudaMemcpyKind kind, cudaStream_t stream) {
  if (cudaError_t error = check_copy(to, count, from, count, kind)) return error;
  return in_stream(stream, NodeType::Memcpy, [=] {
    if (count > 0) std::memmove(to, from, count);
    return cudaSuccess;
  });
}

cudaError_t copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                      cudaMemcpyKind kind, cudaStream_t stream) {
  if (width > to_pitch || width > from_pitch) return cudaErrorInvalidPitchValue;
  if (cudaError_t error =
          check_copy(to, rows_span(to_pitch, width, height), from, rows_span(from_pitch, width, height), kind))
    return error;
  return in_stream(stream, NodeType::Memcpy, [=] {
    for (size_t row = 0; row < height; ++row)
      std::memmove(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width);
    return cudaSuccess;
  });
}

/// A corner of a pitched box: its address, pitches, and the bytes that the extent spans from there.
struct Corner {
  char* address;
  size_t row_pitch, slice_pitch, span;
};
Corner corner(const cudaPitchedPtr& box, const cudaPos& at, const cudaExtent& extent) {
  size_t rows = box.ysize ? box.ysize : extent.height;
  size_t slice = box.pitch * rows;
  size_t span = extent.depth == 0 ? 0 : slice * (extent.depth - 1) + rows_span(box.pitch, extent.width, extent.height);
  return {static_cast<char*>(box.ptr) + at.z * slice + at.y * box.pitch + at.x, box.pitch, slice, span};
}

cudaError_t copy_box(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  if (!parameters) return cudaErrorInvalidValue;
  if (parameters->srcArray || parameters->dstArray)
    return not_supported("cudaMemcpy3D with arrays", "use linear memory");
  const cudaExtent extent = parameters->extent;
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return cudaSuccess;
  if (extent.width > parameters->srcPtr.pitch || extent.width > parameters->dstPtr.pitch)
    return cudaErrorInvalidPitchValue;
  Corner from = corner(parameters->srcPtr, parameters->srcPos, extent);
  Corner to = corner(parameters->dstPtr, parameters->dstPos, extent);
  if (cudaError_t error = check_copy(to.address, to.span, from.address, from.span, parameters->kind)) return error;
  return in_stream(stream, NodeType::Memcpy, [=] {
    for (size_t z = 0; z < extent.depth; ++z)
      for (size_t y = 0; y < extent.height; ++y)
        std::memmove(to.address + z * to.slice_pitch + y * to.row_pitch,
                     from.address + z * from.slice_pitch + y * from.row_pitch, extent.width);
    return cudaSuccess;
  });
}

}  // namespace

KL_API cudaError_t cudaMemcpy(void* to, const void* from, size_t count, cudaMemcpyKind kind) {
  KL_ENTER();
  return leave(copy(to, from, count, kind, kLegacyStream));
}
KL_PTDS(cudaMemcpy);

KL_API cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t count, cudaMemcpyKind kind, cudaStream_t stream) {
  KL_ENTER();
  return leave(copy(to, from, count, kind, stream));
}
KL_PTSZ(cudaMemcpyAsync);

KL_API cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t count,
                                       cudaStream_t stream) {
  KL_ENTER();
  if (to_device != 0 || from_device != 0) return leave(cudaErrorInvalidDevice);
  return leave(copy(to, from, count, cudaMemcpyDeviceToDevice, stream));
}
KL_PTSZ(cudaMemcpyPeerAsync);
KL_API cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t count) {
  return cudaMemcpyPeerAsync(to, to_device, from, from_device, count, kLegacyStream);
}

KL_API cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                     size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  KL_ENTER();
  return leave(copy_rows(to, to_pitch, from, from_pitch, width, height, kind, stream));
}
KL_PTSZ(cudaMemcpy2DAsync);
KL_API cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                size_t height, cudaMemcpyKind kind) {
  return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, kLegacyStream);
}
KL_PTDS(cudaMemcpy2D);

KL_API cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  KL_ENTER();
  return leave(copy_box(parameters, stream));
}
KL_PTSZ(cudaMemcpy3DAsync);
KL_API cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
  return cudaMemcpy3DAsync(parameters, kLegacyStream);
}
KL_PTDS(cudaMemcpy3D);

KL_API cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* p, cudaStream_t stream) {
  KL_ENTER();
  if (!p) return leave(cudaErrorInvalidValue);
  if (p->srcDevice != 0 || p->dstDevice != 0) return leave(cudaErrorInvalidDevice);
  cudaMemcpy3DParms plain = {p->srcArray, p->srcPos, p->srcPtr, p->dstArray,
                             p->dstPos,   p->dstPtr, p->extent, cudaMemcpyDeviceToDevice};
  return leave(copy_box(&plain, stream));
}
KL_PTSZ(cudaMemcpy3DPeerAsync);
KL_API cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* p) { return cudaMemcpy3DPeerAsync(p, kLegacyStream); }
KL_PTDS(cudaMemcpy3DPeer);
