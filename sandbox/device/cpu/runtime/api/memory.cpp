// Allocation: device, pitched, managed and pinned memory, registration of the application's own, and questions about
// pointers. Memory on the stream-ordered pools is in pool.cpp.
#include <cstring>

#include "sandbox/device/cpu/runtime/errors.h"
#include "sandbox/device/cpu/runtime/launch/launcher.h"
#include "sandbox/device/cpu/runtime/memory/ranges.h"
#include "sandbox/device/cpu/runtime/order/stream.h"
#include "sandbox/device/cpu/runtime/state.h"

using namespace kernelift::cudart;

namespace {

constexpr size_t kPitch = 512;  ///< cudaMallocPitch rounds rows up to this.
constexpr unsigned kHostFlags = 0x07, kRegisterFlags = 0x0f;
enum { kAttachGlobal = 1, kAttachHost = 2 };

cudaError_t allocate(void** pointer, size_t size, kl_memory_kind kind, bool host = false, unsigned flags = 0) {
  if (!pointer) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (size == 0) return cudaSuccess;
  StateLock lock;
  *pointer = reinterpret_cast<void*>(state().arena.allocate(size, kind, host, flags));
  return *pointer ? cudaSuccess : cudaErrorMemoryAllocation;
}

}  // namespace

KL_API cudaError_t cudaMalloc(void** pointer, size_t size) {
  KL_ENTER();
  return leave(allocate(pointer, size, KL_MEMORY_DEVICE));
}

KL_API cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  KL_ENTER();
  if (!pointer || !pitch) return leave(cudaErrorInvalidValue);
  *pitch = (width + kPitch - 1) / kPitch * kPitch;
  if (height != 0 && *pitch > SIZE_MAX / height) return leave(cudaErrorMemoryAllocation);
  return leave(allocate(pointer, *pitch * height, KL_MEMORY_DEVICE));
}

KL_API cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
  KL_ENTER();
  if (!pitched) return leave(cudaErrorInvalidValue);
  if (extent.depth != 0 && extent.height > SIZE_MAX / extent.depth) return leave(cudaErrorMemoryAllocation);
  pitched->xsize = extent.width;
  pitched->ysize = extent.height;
  return cudaMallocPitch(&pitched->ptr, &pitched->pitch, extent.width, extent.height * extent.depth);
}

KL_API cudaError_t cudaMallocManaged(void** pointer, size_t size, unsigned flags) {
  KL_ENTER();
  if (size == 0 || (flags != kAttachGlobal && flags != kAttachHost)) return leave(cudaErrorInvalidValue);
  return leave(allocate(pointer, size, KL_MEMORY_MANAGED));
}

KL_API cudaError_t cudaFree(void* pointer) {
  KL_ENTER();
  if (!pointer) return cudaSuccess;
  wait_for_callbacks(nullptr);
  auto lock_launches = lock_out_launches();
  StateLock lock;
  Allocation* found = state().arena.find(reinterpret_cast<uint64_t>(pointer));
  const bool freeable = found && (found->kind == KL_MEMORY_DEVICE || found->kind == KL_MEMORY_MANAGED);
  if (!freeable || found->host || found->address != reinterpret_cast<uint64_t>(pointer))
    return leave(cudaErrorInvalidValue);
  state().arena.release(found->address);
  return cudaSuccess;
}

KL_API cudaError_t cudaHostAlloc(void** pointer, size_t size, unsigned flags) {
  KL_ENTER();
  if (flags & ~kHostFlags) return leave(cudaErrorInvalidValue);
  return leave(allocate(pointer, size, KL_MEMORY_HOST_MAPPED, true, flags));
}
KL_API cudaError_t cudaMallocHost(void** pointer, size_t size) { return cudaHostAlloc(pointer, size, 0); }

KL_API cudaError_t cudaFreeHost(void* pointer) {
  KL_ENTER();
  if (!pointer) return cudaSuccess;
  wait_for_callbacks(nullptr);
  auto lock_launches = lock_out_launches();
  StateLock lock;
  Allocation* found = state().arena.find(reinterpret_cast<uint64_t>(pointer));
  bool ours = found && found->host && found->span > 0 && found->address == reinterpret_cast<uint64_t>(pointer);
  if (!ours) return leave(cudaErrorInvalidValue);
  state().arena.release(found->address);
  return cudaSuccess;
}

KL_API cudaError_t cudaHostRegister(void* pointer, size_t size, unsigned flags) {
  KL_ENTER();
  if (!pointer || size == 0 || (flags & ~kRegisterFlags)) return leave(cudaErrorInvalidValue);
  StateLock lock;
  bool fresh = state().arena.adopt(reinterpret_cast<uint64_t>(pointer), size, flags);
  return leave(fresh ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered);
}

KL_API cudaError_t cudaHostUnregister(void* pointer) {
  KL_ENTER();
  auto lock_launches = lock_out_launches();
  StateLock lock;
  Allocation* found = state().arena.find(reinterpret_cast<uint64_t>(pointer));
  if (!found || found->span > 0 || found->address != reinterpret_cast<uint64_t>(pointer))
    return leave(pointer ? cudaErrorHostMemoryNotRegistered : cudaErrorInvalidValue);
  state().arena.release(found->address);
  return cudaSuccess;
}

KL_API cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  KL_ENTER();
  if (!device || !host || flags != 0) return leave(cudaErrorInvalidValue);
  MemoryClass kind = classify(host).kind;
  if (kind != MemoryClass::Pinned && kind != MemoryClass::Managed) return leave(cudaErrorInvalidValue);
  *device = host;
  return cudaSuccess;
}

KL_API cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
  KL_ENTER();
  StateLock lock;
  MemoryRange range = classify(host);
  if (!flags || range.kind != MemoryClass::Pinned) return leave(cudaErrorInvalidValue);
  *flags = range.allocation->flags | 0x02;  // Always mapped, as with unified addressing.
  return cudaSuccess;
}

KL_API cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  KL_ENTER();
  if (!free_bytes || !total) return leave(cudaErrorInvalidValue);
  StateLock lock;
  *total = state().arena.capacity();
  *free_bytes = *total - state().arena.used();
  return cudaSuccess;
}

KL_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  KL_ENTER();
  if (!attributes) return leave(cudaErrorInvalidValue);
  *attributes = {};
  void* plain = const_cast<void*>(pointer);
  switch (classify(pointer).kind) {
    case MemoryClass::Pageable:
    case MemoryClass::Dead:
      attributes->type = kMemoryUnregistered;
      attributes->device = -2;
      attributes->hostPointer = plain;
      break;
    case MemoryClass::Pinned:
      attributes->type = kMemoryHost;
      attributes->devicePointer = attributes->hostPointer = plain;
      break;
    case MemoryClass::Device:
      attributes->type = kMemoryDevice;
      attributes->devicePointer = plain;
      break;
    case MemoryClass::Managed:
      attributes->type = kMemoryManaged;
      attributes->devicePointer = attributes->hostPointer = plain;
      break;
  }
  return cudaSuccess;
}
