// The C++ forms of the runtime API: typed pointers, symbols and kernels, as nvcc's own headers offer them.
#pragma once
#include "device.h"
#include "execution.h"
#include "memory.h"
#include "stream.h"

#define KL_API       \
  template <class T> \
  static __inline__ cudaError_t

KL_API cudaMalloc(T** pointer, size_t size) { return ::cudaMalloc((void**)(void*)pointer, size); }
KL_API cudaMallocHost(T** pointer, size_t size, unsigned int flags = 0) {
  return ::cudaHostAlloc((void**)(void*)pointer, size, flags);
}
KL_API cudaHostAlloc(T** pointer, size_t size, unsigned int flags) {
  return ::cudaHostAlloc((void**)(void*)pointer, size, flags);
}
KL_API cudaHostGetDevicePointer(T** device, void* host, unsigned int flags) {
  return ::cudaHostGetDevicePointer((void**)(void*)device, host, flags);
}
KL_API cudaMallocManaged(T** pointer, size_t size, unsigned int flags = cudaMemAttachGlobal) {
  return ::cudaMallocManaged((void**)(void*)pointer, size, flags);
}
KL_API cudaMallocPitch(T** pointer, size_t* pitch, size_t width, size_t height) {
  return ::cudaMallocPitch((void**)(void*)pointer, pitch, width, height);
}
KL_API cudaMallocAsync(T** pointer, size_t size, cudaStream_t stream) {
  return ::cudaMallocAsync((void**)(void*)pointer, size, stream);
}
KL_API cudaMallocAsync(T** pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream) {
  return ::cudaMallocFromPoolAsync((void**)(void*)pointer, size, pool, stream);
}
KL_API cudaMallocFromPoolAsync(T** pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream) {
  return ::cudaMallocFromPoolAsync((void**)(void*)pointer, size, pool, stream);
}
KL_API cudaStreamAttachMemAsync(cudaStream_t stream, T* pointer, size_t length = 0,
                                unsigned int flags = cudaMemAttachSingle) {
  return ::cudaStreamAttachMemAsync(stream, (void*)pointer, length, flags);
}

KL_API cudaMemcpyToSymbol(const T& symbol, const void* from, size_t size, size_t offset = 0,
                          enum cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return ::cudaMemcpyToSymbol((const void*)&symbol, from, size, offset, kind);
}
KL_API cudaMemcpyFromSymbol(void* to, const T& symbol, size_t size, size_t offset = 0,
                            enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return ::cudaMemcpyFromSymbol(to, (const void*)&symbol, size, offset, kind);
}
KL_API cudaMemcpyToSymbolAsync(const T& symbol, const void* from, size_t size, size_t offset = 0,
                               enum cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = 0) {
  return ::cudaMemcpyToSymbolAsync((const void*)&symbol, from, size, offset, kind, stream);
}
KL_API cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t size, size_t offset = 0,
                                 enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t stream = 0) {
  return ::cudaMemcpyFromSymbolAsync(to, (const void*)&symbol, size, offset, kind, stream);
}
KL_API cudaGetSymbolAddress(void** pointer, const T& symbol) {
  return ::cudaGetSymbolAddress(pointer, (const void*)&symbol);
}
KL_API cudaGetSymbolAddress(T** pointer, const void* symbol) {
  return ::cudaGetSymbolAddress((void**)(void*)pointer, symbol);
}
template <class Pointee, class T>
static __inline__ cudaError_t cudaGetSymbolAddress(Pointee** pointer, const T& symbol) {
  return ::cudaGetSymbolAddress((void**)(void*)pointer, (const void*)&symbol);
}
KL_API cudaGetSymbolSize(size_t* size, const T& symbol) { return ::cudaGetSymbolSize(size, (const void*)&symbol); }

KL_API cudaLaunchKernel(T* function, dim3 grid, dim3 block, void** arguments, size_t shared = 0,
                        cudaStream_t stream = 0) {
  return ::cudaLaunchKernel((const void*)function, grid, block, arguments, shared, stream);
}
KL_API cudaLaunchCooperativeKernel(T* function, dim3 grid, dim3 block, void** arguments, size_t shared = 0,
                                   cudaStream_t stream = 0) {
  return ::cudaLaunchCooperativeKernel((const void*)function, grid, block, arguments, shared, stream);
}
KL_API cudaFuncGetAttributes(struct cudaFuncAttributes* attributes, T* function) {
  return ::cudaFuncGetAttributes(attributes, (const void*)function);
}
KL_API cudaFuncSetAttribute(T* function, enum cudaFuncAttribute attribute, int value) {
  return ::cudaFuncSetAttribute((const void*)function, attribute, value);
}
KL_API cudaFuncSetCacheConfig(T* function, enum cudaFuncCache config) {
  return ::cudaFuncSetCacheConfig((const void*)function, config);
}
KL_API cudaFuncSetSharedMemConfig(T* function, enum cudaSharedMemConfig config) {
  return ::cudaFuncSetSharedMemConfig((const void*)function, config);
}
KL_API cudaFuncGetName(const char** name, T* function) { return ::cudaFuncGetName(name, (const void*)function); }
KL_API cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, T function, int block_size, size_t shared) {
  return ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void*)function, block_size, shared);
}
KL_API cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, T function, int block_size, size_t shared,
                                                              unsigned int flags) {
  return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, (const void*)function, block_size, shared,
                                                                  flags);
}
KL_API cudaOccupancyAvailableDynamicSMemPerBlock(size_t* shared, T function, int blocks, int block_size) {
  return ::cudaOccupancyAvailableDynamicSMemPerBlock(shared, (const void*)function, blocks, block_size);
}
#undef KL_API

/// The block size with the most resident threads, and the grid that fills the device with it. `shared_for(block)` is
/// the dynamic shared memory that a block of that size wants.
template <class SharedOfBlock, class T>
static __inline__ cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid, int* block, T function,
                                                                             SharedOfBlock shared_for, int limit = 0) {
  int device = 0, processors = 0, warp = 32, most = 0;
  struct cudaFuncAttributes attributes;
  cudaError_t error = ::cudaGetDevice(&device);
  if (!error) error = ::cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (!error) error = ::cudaFuncGetAttributes(&attributes, (const void*)function);
  if (error) return error;
  int top = attributes.maxThreadsPerBlock;
  if (limit > 0 && limit < top) top = limit;
  for (int size = (top + warp - 1) / warp * warp; size > 0; size -= warp) {
    int threads = size < top ? size : top, blocks = 0;
    error =
        ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void*)function, threads, shared_for(threads));
    if (error) return error;
    if (blocks * threads > most) {
      most = blocks * threads;
      *block = threads;
      *grid = blocks * processors;
    }
  }
  return cudaSuccess;
}
struct kernelift_same_shared {
  size_t bytes;
  size_t operator()(int) const { return bytes; }
};
template <class T>
static __inline__ cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, T function, size_t shared = 0,
                                                                 int limit = 0) {
  kernelift_same_shared same = {shared};
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(grid, block, function, same, limit);
}

#if __cplusplus >= 201103L
/// cudaLaunchKernelEx(&config, kernel, arguments...): arguments are converted to the kernel's parameter types.
template <class... Parameters, class... Arguments>
static __inline__ cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                                                 Arguments&&... arguments) {
  return [&](Parameters... converted) {
    void* pointers[] = {(void*)&converted..., nullptr};
    return ::cudaLaunchKernelExC(config, (const void*)kernel, pointers);
  }(static_cast<Arguments&&>(arguments)...);
}
#endif
