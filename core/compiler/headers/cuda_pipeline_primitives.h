// Copies from global to shared memory that may overlap with computation. Here they are done at once, which is one of
// the orders that a program must bear: what it waits for is there.
#pragma once
#include "cuda_runtime.h"
/// The last `zero` of `size` bytes are cleared instead of copied.
static __device__ __forceinline__ void __pipeline_memcpy_async(void* __restrict__ to, const void* __restrict__ from,
                                                               size_t size, size_t zero = 0) {
  memcpy(to, from, size - zero);
  memset((char*)to + (size - zero), 0, zero);
}
static __device__ __forceinline__ void __pipeline_commit() {}
static __device__ __forceinline__ void __pipeline_wait_prior(size_t) {}
