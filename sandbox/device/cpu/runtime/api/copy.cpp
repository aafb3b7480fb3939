// Copies: linear, two- and three-dimensional, between peers, to and from arrays. Each is a memmove once the ranges are
// checked; the kinds are held against whose memory it is (ranges.h).
#include <cstring>

#include "sandbox/device/cpu/runtime/api/alias.h"
#include "sandbox/device/cpu/runtime/errors.h"
#include "sandbox/device/cpu/runtime/memory/ranges.h"
#include "sandbox/device/cpu/runtime/memory/textures.h"
#include "sandbox/device/cpu/runtime/order/stream.h"
#include "sandbox/device/cpu/runtime/state.h"

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

/// The same of an array. Positions count texels, and so do extents where an array takes part.
bool corner(const Array& array, const cudaPos& at, const cudaExtent& extent, Corner& into) {
  const kl_texture& shape = array.shape;
  auto fits = [](size_t begin, size_t count, size_t all) {
    all = all ? all : 1;
    return begin <= all && count <= all - begin;
  };
  const size_t texel = array.texel_bytes();
  if (!fits(at.x, extent.width / texel, shape.width) || !fits(at.y, extent.height, shape.height) ||
      !fits(at.z, extent.depth, shape.depth))
    return false;
  const cudaPitchedPtr box = {reinterpret_cast<void*>(shape.memory), shape.row_bytes, shape.width,
                              shape.height ? shape.height : 1};
  into = corner(box, {at.x * texel, at.y, at.z}, extent);
  return true;
}

/// A row of an array, `row` and `column` (in bytes) of its first layer; nullptr: no such array, or not so many bytes.
char* in_array(const Array* handle, size_t column, size_t row, size_t width, size_t height, size_t& pitch) {
  StateLock lock;
  const Array* array = find_array(handle);
  if (!array) return nullptr;
  const kl_texture& shape = array->shape;
  const size_t rows = shape.height ? shape.height : 1;
  if (column > shape.row_bytes || width > shape.row_bytes - column || row > rows || height > rows - row) return nullptr;
  pitch = shape.row_bytes;
  return reinterpret_cast<char*>(shape.memory) + row * shape.row_bytes + column;
}
/// The same for bytes that go on from row to row.
char* in_array(const Array* handle, size_t column, size_t row, size_t count) {
  size_t pitch = 0;
  char* first = in_array(handle, column, row, 0, 0, pitch);
  StateLock lock;
  const Array* array = first ? find_array(handle) : nullptr;
  return array && count <= array->bytes() - (row * pitch + column) ? first : nullptr;
}

cudaError_t copy_box(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  if (!parameters) return cudaErrorInvalidValue;
  StateLock lock;
  const Array* source = find_array(parameters->srcArray);
  const Array* destination = find_array(parameters->dstArray);
  if ((parameters->srcArray && !source) || (parameters->dstArray && !destination))
    return cudaErrorInvalidResourceHandle;
  if (source && destination && source->texel_bytes() != destination->texel_bytes()) return cudaErrorInvalidValue;
  cudaExtent extent = parameters->extent;
  if (source || destination) extent.width *= (source ? source : destination)->texel_bytes();
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return cudaSuccess;
  if ((!source && extent.width > parameters->srcPtr.pitch) || (!destination && extent.width > parameters->dstPtr.pitch))
    return cudaErrorInvalidPitchValue;
  Corner from = corner(parameters->srcPtr, parameters->srcPos, extent);
  Corner to = corner(parameters->dstPtr, parameters->dstPos, extent);
  if ((source && !corner(*source, parameters->srcPos, extent, from)) ||
      (destination && !corner(*destination, parameters->dstPos, extent, to)))
    return cudaErrorInvalidValue;
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

KL_API cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t column, size_t row, const void* from, size_t pitch,
                                            size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  KL_ENTER();
  size_t to_pitch = 0;
  char* into = in_array(to, column, row, width, height, to_pitch);
  return leave(into ? copy_rows(into, to_pitch, from, pitch, width, height, kind, stream) : cudaErrorInvalidValue);
}
KL_PTSZ(cudaMemcpy2DToArrayAsync);
KL_API cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t column, size_t row, const void* from, size_t pitch,
                                       size_t width, size_t height, cudaMemcpyKind kind) {
  return cudaMemcpy2DToArrayAsync(to, column, row, from, pitch, width, height, kind, kLegacyStream);
}
KL_PTDS(cudaMemcpy2DToArray);

KL_API cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_t from, size_t column, size_t row,
                                              size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  KL_ENTER();
  size_t from_pitch = 0;
  const char* source = in_array(from, column, row, width, height, from_pitch);
  return leave(source ? copy_rows(to, pitch, source, from_pitch, width, height, kind, stream) : cudaErrorInvalidValue);
}
KL_PTSZ(cudaMemcpy2DFromArrayAsync);
KL_API cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_t from, size_t column, size_t row,
                                         size_t width, size_t height, cudaMemcpyKind kind) {
  return cudaMemcpy2DFromArrayAsync(to, pitch, from, column, row, width, height, kind, kLegacyStream);
}
KL_PTDS(cudaMemcpy2DFromArray);

KL_API cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_column, size_t to_row, cudaArray_t from,
                                            size_t column, size_t row, size_t width, size_t height,
                                            cudaMemcpyKind kind) {
  KL_ENTER();
  size_t pitch = 0, to_pitch = 0;
  const char* source = in_array(from, column, row, width, height, pitch);
  char* into = in_array(to, to_column, to_row, width, height, to_pitch);
  return leave(source && into ? copy_rows(into, to_pitch, source, pitch, width, height, kind, kLegacyStream)
                              : cudaErrorInvalidValue);
}
KL_PTDS(cudaMemcpy2DArrayToArray);

KL_API cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t column, size_t row, const void* from, size_t count,
                                          cudaMemcpyKind kind, cudaStream_t stream) {
  KL_ENTER();
  char* into = in_array(to, column, row, count);
  return leave(into ? copy(into, from, count, kind, stream) : cudaErrorInvalidValue);
}
KL_PTSZ(cudaMemcpyToArrayAsync);
KL_API cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t column, size_t row, const void* from, size_t count,
                                     cudaMemcpyKind kind) {
  return cudaMemcpyToArrayAsync(to, column, row, from, count, kind, kLegacyStream);
}
KL_PTDS(cudaMemcpyToArray);

KL_API cudaError_t cudaMemcpyFromArrayAsync(void* to, cudaArray_t from, size_t column, size_t row, size_t count,
                                            cudaMemcpyKind kind, cudaStream_t stream) {
  KL_ENTER();
  const char* source = in_array(from, column, row, count);
  return leave(source ? copy(to, source, count, kind, stream) : cudaErrorInvalidValue);
}
KL_PTSZ(cudaMemcpyFromArrayAsync);
KL_API cudaError_t cudaMemcpyFromArray(void* to, cudaArray_t from, size_t column, size_t row, size_t count,
                                       cudaMemcpyKind kind) {
  return cudaMemcpyFromArrayAsync(to, from, column, row, count, kind, kLegacyStream);
}
KL_PTDS(cudaMemcpyFromArray);

KL_API cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_column, size_t to_row, cudaArray_t from,
                                          size_t column, size_t row, size_t count, cudaMemcpyKind kind) {
  KL_ENTER();
  const char* source = in_array(from, column, row, count);
  char* into = in_array(to, to_column, to_row, count);
  return leave(source && into ? copy(into, source, count, kind, kLegacyStream) : cudaErrorInvalidValue);
}
KL_PTDS(cudaMemcpyArrayToArray);
