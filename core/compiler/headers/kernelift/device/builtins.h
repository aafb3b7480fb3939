// threadIdx, blockIdx, blockDim, gridDim and warpSize (clang's), device calls that the compiler itself makes, and what
// may be asked of a pointer.
#pragma once
#include <__clang_cuda_builtin_vars.h>

#include "../types/vectors.h"

#define KL_INDEX_CONVERSIONS(type)                                        \
  __device__ inline type::operator dim3() const { return dim3(x, y, z); } \
  __device__ inline type::operator uint3() const {                        \
    uint3 t;                                                              \
    t.x = x;                                                              \
    t.y = y;                                                              \
    t.z = z;                                                              \
    return t;                                                             \
  }
KL_INDEX_CONVERSIONS(__cuda_builtin_threadIdx_t)
KL_INDEX_CONVERSIONS(__cuda_builtin_blockIdx_t)
KL_INDEX_CONVERSIONS(__cuda_builtin_blockDim_t)
KL_INDEX_CONVERSIONS(__cuda_builtin_gridDim_t)
#undef KL_INDEX_CONVERSIONS

extern "C" {
__device__ int vprintf(const char*, const char*);
__device__ void free(void*) __attribute__((nothrow));
__device__ void* malloc(size_t) __attribute__((nothrow)) __attribute__((malloc));
__device__ int printf(const char*, ...);
__device__ void __assertfail(const char* message, const char* file, unsigned line, const char* function,
                             size_t char_size);
// What the C library's assert() calls.
__device__ static inline void __assert_fail(const char* message, const char* file, unsigned line,
                                            const char* function) {
  __assertfail(message, file, line, function, sizeof(char));
}
}
namespace std {
__device__ static inline void free(void* pointer) { ::free(pointer); }
__device__ static inline void* malloc(size_t size) { return ::malloc(size); }
}  // namespace std

#define KL_DEVICE static __device__ __forceinline__
KL_DEVICE unsigned int __isGlobal(const void* p) { return __nvvm_isspacep_global(p); }
KL_DEVICE unsigned int __isShared(const void* p) { return __nvvm_isspacep_shared(p); }
/// A block is a cluster of its own.
KL_DEVICE unsigned int __isClusterShared(const void* p) { return __nvvm_isspacep_shared(p); }
KL_DEVICE unsigned int __isConstant(const void* p) { return __nvvm_isspacep_const(p); }
KL_DEVICE unsigned int __isLocal(const void* p) { return __nvvm_isspacep_local(p); }
KL_DEVICE size_t __cvta_generic_to_global(const void* p) { return (size_t)(void __attribute__((address_space(1)))*)p; }
KL_DEVICE size_t __cvta_generic_to_shared(const void* p) { return (size_t)(void __attribute__((address_space(3)))*)p; }
KL_DEVICE size_t __cvta_generic_to_constant(const void* p) {
  return (size_t)(void __attribute__((address_space(4)))*)p;
}
KL_DEVICE size_t __cvta_generic_to_local(const void* p) { return (size_t)(void __attribute__((address_space(5)))*)p; }
KL_DEVICE void* __cvta_global_to_generic(size_t p) { return (void*)(void __attribute__((address_space(1)))*)p; }
KL_DEVICE void* __cvta_shared_to_generic(size_t p) { return (void*)(void __attribute__((address_space(3)))*)p; }
#undef KL_DEVICE
