// What a program may ask about, or set for, a kernel; and the occupancy calculator built on it.
#include <algorithm>

#include "sandbox/device/cpu/runtime/errors.h"
#include "sandbox/device/cpu/runtime/launch/launcher.h"
#include "sandbox/device/cpu/runtime/state.h"

using namespace kernelift::cudart;

namespace {

constexpr int kArchitecture = 90;  ///< What the device reports: sm_90.
/// A plausible register count: 64 lets a full block of 1024 threads run, as the limits say it can.
constexpr int kRegisters = 64;
enum {
  kAttributeMaxDynamicShared = 8,
  kAttributeCarveout = 9,
  kAttributeClusterMustBeSet = 10,
  kAttributeClusterWidth = 11,
  kAttributeClusterScheduling = 15,
};

}  // namespace

KL_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* host_function) {
  KL_ENTER();
  if (!attributes) return leave(cudaErrorInvalidValue);
  StateLock lock;
  Function* function = nullptr;
  if (cudaError_t error = find_function(host_function, &function)) return leave(error);
  *attributes = {};
  attributes->sharedSizeBytes = function->kernel->static_shared_bytes;
  attributes->localSizeBytes = function->kernel->frame_bytes;
  attributes->maxThreadsPerBlock = function->kernel->max_threads
                                       ? int(function->kernel->max_threads)
                                       : int(kernelift::cpu::device_limits().max_threads_per_block);
  attributes->numRegs = kRegisters;
  attributes->ptxVersion = function->image->architecture ? int(function->image->architecture) : kArchitecture;
  attributes->binaryVersion = kArchitecture;
  attributes->maxDynamicSharedSizeBytes = int(dynamic_shared_limit(*function));
  attributes->preferredShmemCarveout = -1;
  return cudaSuccess;
}

KL_API cudaError_t cudaFuncSetAttribute(const void* host_function, int attribute, int value) {
  KL_ENTER();
  StateLock lock;
  Function* function = nullptr;
  if (cudaError_t error = find_function(host_function, &function)) return leave(error);
  const kernelift::cpu::DeviceLimits limits = kernelift::cpu::device_limits();
  switch (attribute) {
    case kAttributeMaxDynamicShared:
      if (value < 0 || uint64_t(value) + function->kernel->static_shared_bytes > limits.shared_per_block_optin)
        return leave(cudaErrorInvalidValue);
      function->max_dynamic_shared = uint32_t(value);
      return cudaSuccess;
    case kAttributeCarveout: return leave(value < -1 || value > 100 ? cudaErrorInvalidValue : cudaSuccess);
    default:
      if (attribute < kAttributeClusterMustBeSet || attribute > kAttributeClusterScheduling)
        return leave(cudaErrorInvalidValue);
      return leave(value > 1 && attribute >= kAttributeClusterWidth ? not_supported("a thread block cluster")
                                                                    : cudaSuccess);
  }
}

KL_API cudaError_t cudaFuncSetCacheConfig(const void* host_function, int) {
  KL_ENTER();
  Function* function = nullptr;
  return leave(find_function(host_function, &function));
}
KL_API cudaError_t cudaFuncSetSharedMemConfig(const void* host_function, int) {
  return cudaFuncSetCacheConfig(host_function, 0);
}

KL_API cudaError_t cudaFuncGetName(const char** name, const void* host_function) {
  KL_ENTER();
  Function* function = nullptr;
  if (!name) return leave(cudaErrorInvalidValue);
  if (cudaError_t error = find_function(host_function, &function)) return leave(error);
  *name = function->kernel->name;
  return cudaSuccess;
}

KL_API cudaError_t cudaFuncGetParamInfo(const void* host_function, size_t index, size_t* offset, size_t* size) {
  KL_ENTER();
  Function* function = nullptr;
  if (cudaError_t error = find_function(host_function, &function)) return leave(error);
  if (index >= function->kernel->parameter_count || !offset) return leave(cudaErrorInvalidValue);
  *offset = function->kernel->parameters[index].offset;
  if (size) *size = function->kernel->parameters[index].size;
  return cudaSuccess;
}

KL_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* host_function, int block_size,
                                                                 size_t dynamic_shared) {
  KL_ENTER();
  Function* function = nullptr;
  if (!blocks || block_size <= 0) return leave(cudaErrorInvalidValue);
  if (cudaError_t error = find_function(host_function, &function)) return leave(error);
  *blocks = resident_blocks(*function, uint32_t(block_size), dynamic_shared);
  return cudaSuccess;
}
KL_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* host_function,
                                                                          int block_size, size_t dynamic_shared,
                                                                          unsigned flags) {
  if (flags > 1) return leave(cudaErrorInvalidValue);
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, host_function, block_size, dynamic_shared);
}

KL_API cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* host_function, int blocks,
                                                             int block_size) {
  KL_ENTER();
  Function* function = nullptr;
  if (!bytes || blocks <= 0 || block_size <= 0) return leave(cudaErrorInvalidValue);
  if (cudaError_t error = find_function(host_function, &function)) return leave(error);
  size_t each = kernelift::cpu::device_limits().shared_per_block_optin / size_t(blocks);
  size_t own = function->kernel->static_shared_bytes;
  size_t limit = dynamic_shared_limit(*function);
  *bytes = each > own ? std::min(each - own, limit) : 0;
  return cudaSuccess;
}
