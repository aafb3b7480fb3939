// Stream-ordered allocation and memory pools. Work runs at its call, so the order of a stream is the order of calls;
// every pool draws from the one arena, and a pool is bookkeeping: attributes and high-water marks.
#include <algorithm>
#include <map>
#include <set>

#include "sandbox/device/cpu/runtime/api/alias.h"
#include "sandbox/device/cpu/runtime/errors.h"
#include "sandbox/device/cpu/runtime/memory/ranges.h"
#include "sandbox/device/cpu/runtime/order/stream.h"
#include "sandbox/device/cpu/runtime/state.h"

namespace kernelift::cudart {

struct Pool {
  int reuse[3] = {1, 1, 1};  ///< Follow event dependencies, opportunistic, internal dependencies.
  uint64_t threshold = 0, used = 0, used_high = 0;
};

namespace {

struct Pools {
  Pool standard;
  Pool* current = &standard;
  std::set<Pool*> created;
  std::map<uint64_t, Pool*> owner;  ///< Of each pooled allocation.
};
Pools& pools() {
  static Pools& all = *new Pools;
  return all;
}
bool is_live(Pool* pool) { return pool == &pools().standard || pools().created.contains(pool); }

cudaError_t allocate(void** pointer, size_t size, Pool* pool, cudaStream_t handle) {
  if (!pointer || !is_live(pool)) return cudaErrorInvalidValue;
  Stream* stream = find_stream(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (stream->capture) return not_supported("cudaMallocAsync in a capturing stream", "allocate before the capture");
  *pointer = nullptr;
  if (size == 0) return cudaSuccess;
  uint64_t address = state().arena.allocate(size, KL_MEMORY_DEVICE);
  if (address == 0) return cudaErrorMemoryAllocation;
  state().arena.find(address)->pooled = true;
  pools().owner[address] = pool;
  pool->used += size;
  pool->used_high = std::max(pool->used_high, pool->used);
  *pointer = reinterpret_cast<void*>(address);
  return cudaSuccess;
}

}  // namespace

void forget_pools() {
  for (Pool* pool : pools().created) delete pool;
  pools() = Pools();
  pools().current = &pools().standard;
}

namespace {

enum { kReuseFirst = 1, kReuseLast = 3, kThreshold = 4, kReserved = 5, kReservedHigh = 6, kUsed = 7, kUsedHigh = 8 };

}  // namespace
}  // namespace kernelift::cudart

using namespace kernelift::cudart;

KL_API cudaError_t cudaMallocAsync(void** pointer, size_t size, cudaStream_t stream) {
  KL_ENTER();
  StateLock lock;
  return leave(allocate(pointer, size, pools().current, stream));
}
KL_PTSZ(cudaMallocAsync);

KL_API cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream) {
  KL_ENTER();
  StateLock lock;
  return leave(allocate(pointer, size, pool, stream));
}
KL_PTSZ(cudaMallocFromPoolAsync);

KL_API cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  KL_ENTER();
  Stream* stream = find_stream(handle);
  if (!stream) return leave(cudaErrorInvalidResourceHandle);
  if (!pointer) return cudaSuccess;
  if (stream->capture) return leave(not_supported("cudaFreeAsync in a capturing stream", "free after the capture"));
  wait_for_callbacks(stream);
  auto lock_launches = lock_out_launches();
  StateLock lock;
  Allocation* found = state().arena.find(reinterpret_cast<uint64_t>(pointer));
  if (!found || found->host || found->address != reinterpret_cast<uint64_t>(pointer))
    return leave(cudaErrorInvalidValue);
  if (auto owner = pools().owner.find(found->address); owner != pools().owner.end()) {
    owner->second->used -= std::min(owner->second->used, found->size);
    pools().owner.erase(owner);
  }
  state().arena.release(found->address);
  return cudaSuccess;
}
KL_PTSZ(cudaFreeAsync);

KL_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  KL_ENTER();
  if (!pool) return leave(cudaErrorInvalidValue);
  if (device != 0) return leave(cudaErrorInvalidDevice);
  *pool = &pools().standard;
  return cudaSuccess;
}

KL_API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  KL_ENTER();
  StateLock lock;
  if (!pool) return leave(cudaErrorInvalidValue);
  if (device != 0) return leave(cudaErrorInvalidDevice);
  *pool = pools().current;
  return cudaSuccess;
}

KL_API cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  KL_ENTER();
  StateLock lock;
  if (device != 0) return leave(cudaErrorInvalidDevice);
  if (!is_live(pool)) return leave(cudaErrorInvalidValue);
  pools().current = pool;
  return cudaSuccess;
}

KL_API cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const void* properties) {
  KL_ENTER();
  StateLock lock;
  if (!pool || !properties) return leave(cudaErrorInvalidValue);
  *pool = *pools().created.insert(new Pool).first;
  return cudaSuccess;
}

KL_API cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  KL_ENTER();
  StateLock lock;
  if (pools().created.erase(pool) == 0) return leave(cudaErrorInvalidValue);
  if (pools().current == pool) pools().current = &pools().standard;
  for (auto& [address, owner] : pools().owner)
    if (owner == pool) owner = &pools().standard;  // CUDA frees a destroyed pool's memory allocation by allocation.
  delete pool;
  return cudaSuccess;
}

KL_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  KL_ENTER();
  StateLock lock;
  return leave(is_live(pool) ? cudaSuccess : cudaErrorInvalidValue);
}

KL_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, int attribute, void* value) {
  KL_ENTER();
  StateLock lock;
  if (!is_live(pool) || !value) return leave(cudaErrorInvalidValue);
  if (attribute >= kReuseFirst && attribute <= kReuseLast)
    pool->reuse[attribute - kReuseFirst] = *static_cast<int*>(value);
  else if (attribute == kThreshold) pool->threshold = *static_cast<uint64_t*>(value);
  else if ((attribute == kReservedHigh || attribute == kUsedHigh) && *static_cast<uint64_t*>(value) == 0)
    pool->used_high = pool->used;
  else return leave(cudaErrorInvalidValue);
  return cudaSuccess;
}

KL_API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, int attribute, void* value) {
  KL_ENTER();
  StateLock lock;
  if (!is_live(pool) || !value) return leave(cudaErrorInvalidValue);
  if (attribute >= kReuseFirst && attribute <= kReuseLast)
    *static_cast<int*>(value) = pool->reuse[attribute - kReuseFirst];
  else if (attribute == kThreshold) *static_cast<uint64_t*>(value) = pool->threshold;
  else if (attribute == kReserved || attribute == kUsed) *static_cast<uint64_t*>(value) = pool->used;
  else if (attribute == kReservedHigh || attribute == kUsedHigh) *static_cast<uint64_t*>(value) = pool->used_high;
  else return leave(cudaErrorInvalidValue);
  return cudaSuccess;
}

KL_API cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* list, size_t count) {
  KL_ENTER();
  StateLock lock;
  if (!is_live(pool) || (!list && count > 0)) return leave(cudaErrorInvalidValue);
  for (size_t i = 0; i < count; ++i)
    if (list[i].location.id != 0) return leave(cudaErrorInvalidDevice);
  return cudaSuccess;
}

KL_API cudaError_t cudaMemPoolGetAccess(int* flags, cudaMemPool_t pool, cudaMemLocation*) {
  KL_ENTER();
  StateLock lock;
  constexpr int kReadWrite = 3;
  if (!is_live(pool) || !flags) return leave(cudaErrorInvalidValue);
  *flags = kReadWrite;
  return cudaSuccess;
}
