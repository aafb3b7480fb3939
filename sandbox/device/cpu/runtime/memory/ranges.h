// Whose memory is this, and does the range fit? Every copy, set and free asks here first, so that what a GPU would
// answer with an error does not quietly work because host and device share a machine.
#pragma once
#include <cstddef>

#include "sandbox/device/cpu/runtime/abi.h"
#include "sandbox/device/cpu/runtime/memory/arena.h"

namespace kernelift::cudart {

enum class MemoryClass {
  Pageable,  ///< The application's own: nothing is known about it.
  Pinned,    ///< cudaMallocHost, cudaHostRegister: good as host and as device pointer.
  Device,    ///< cudaMalloc, or a module variable.
  Managed,
  Dead,  ///< In the arena, but in no live allocation.
};

struct MemoryRange {
  MemoryClass kind = MemoryClass::Pageable;
  uint64_t begin = 0, size = 0;  ///< Of the allocation or variable; zero for Pageable and Dead.
  const Allocation* allocation = nullptr;
};
MemoryRange classify(const void* pointer);

/// cudaErrorInvalidValue unless [pointer, pointer + bytes) may be used as the device side of an operation.
cudaError_t check_device(const void* pointer, size_t bytes);
/// The same for both sides of a copy of a kind.
cudaError_t check_copy(const void* destination, size_t destination_bytes, const void* source, size_t source_bytes,
                       cudaMemcpyKind kind);

/// Bytes touched by `height` rows of `width` in a pitch.
inline size_t rows_span(size_t pitch, size_t width, size_t height) {
  return height == 0 || width == 0 ? 0 : pitch * (height - 1) + width;
}

}  // namespace kernelift::cudart
