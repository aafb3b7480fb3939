// HIP's device language where it differs from CUDA's: the names of the index variables, warp operations without a mask
// (over the whole warp of 32), AMD's builtins, dynamic shared memory and launches by macro.
#pragma once
#define hipThreadIdx_x (threadIdx.x)
#define hipThreadIdx_y (threadIdx.y)
#define hipThreadIdx_z (threadIdx.z)
#define hipBlockIdx_x (blockIdx.x)
#define hipBlockIdx_y (blockIdx.y)
#define hipBlockIdx_z (blockIdx.z)
#define hipBlockDim_x (blockDim.x)
#define hipBlockDim_y (blockDim.y)
#define hipBlockDim_z (blockDim.z)
#define hipGridDim_x (gridDim.x)
#define hipGridDim_y (gridDim.y)
#define hipGridDim_z (gridDim.z)

#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define HIP_DYNAMIC_SHARED_ATTRIBUTE
#define HIP_SYMBOL(name) name
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...) \
  do {                                                               \
    kernel<<<grid, block, shared, stream>>>(__VA_ARGS__);            \
  } while (0)

#if defined(__CUDA__) && defined(__clang__)
// Names for names, not macros with arguments: a library may have a type called __any of its own.
#define __shfl kernelift_hip_shfl
#define __shfl_up kernelift_hip_shfl_up
#define __shfl_down kernelift_hip_shfl_down
#define __shfl_xor kernelift_hip_shfl_xor
#define __any kernelift_hip_any
#define __all kernelift_hip_all
#define __ballot kernelift_hip_ballot
#define KL_SHUFFLE(name, other)                                                                 \
  template <class T>                                                                            \
  static __device__ __forceinline__ T kernelift_hip_##name(T value, other by, int width = 32) { \
    return __##name##_sync(0xffffffffu, value, by, width);                                      \
  }
KL_SHUFFLE(shfl, int)
KL_SHUFFLE(shfl_up, unsigned int)
KL_SHUFFLE(shfl_down, unsigned int)
KL_SHUFFLE(shfl_xor, int)
#undef KL_SHUFFLE
static __device__ __forceinline__ int kernelift_hip_any(int predicate) { return __any_sync(0xffffffffu, predicate); }
static __device__ __forceinline__ int kernelift_hip_all(int predicate) { return __all_sync(0xffffffffu, predicate); }
static __device__ __forceinline__ unsigned long long kernelift_hip_ballot(int predicate) {
  return __ballot_sync(0xffffffffu, predicate);
}
static __device__ __forceinline__ unsigned int __lane_id() { return __nvvm_read_ptx_sreg_laneid(); }
static __device__ __forceinline__ unsigned long long wall_clock64() { return __nvvm_read_ptx_sreg_globaltimer(); }
// Atomics that AMD has names of its own for.
static __device__ __forceinline__ float atomicAddNoRet(float* address, float value) {
  return atomicAdd(address, value);
}
static __device__ __forceinline__ float unsafeAtomicAdd(float* address, float value) {
  return atomicAdd(address, value);
}
static __device__ __forceinline__ double unsafeAtomicAdd(double* address, double value) {
  return atomicAdd(address, value);
}
static __device__ __forceinline__ float safeAtomicAdd(float* address, float value) { return atomicAdd(address, value); }
static __device__ __forceinline__ double safeAtomicAdd(double* address, double value) {
  return atomicAdd(address, value);
}
static __device__ __forceinline__ unsigned int __bitextract_u32(unsigned int word, unsigned int from,
                                                                unsigned int width) {
  from &= 31, width &= 31;
  return word >> from & ((1u << width) - 1);
}
static __device__ __forceinline__ unsigned int __bitinsert_u32(unsigned int word, unsigned int bits, unsigned int from,
                                                               unsigned int width) {
  from &= 31, width &= 31;
  const unsigned int mask = ((1u << width) - 1) << from;
  return (word & ~mask) | (bits << from & mask);
}
/// HIP's device code may call it; CUDA's may not. The C library's is the host's.
static __device__ __forceinline__ void abort() { __trap(); }

// AMD's builtins that portable sources use, on a wavefront of 32.
#define __AMDGCN_WAVEFRONT_SIZE 32
#define __AMDGCN_WAVEFRONT_SIZE__ 32
#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5
#define __builtin_amdgcn_workitem_id_x() (threadIdx.x)
#define __builtin_amdgcn_workitem_id_y() (threadIdx.y)
#define __builtin_amdgcn_workitem_id_z() (threadIdx.z)
#define __builtin_amdgcn_workgroup_id_x() (blockIdx.x)
#define __builtin_amdgcn_workgroup_id_y() (blockIdx.y)
#define __builtin_amdgcn_workgroup_id_z() (blockIdx.z)
#define __builtin_amdgcn_wavefrontsize() 32u
#define __builtin_amdgcn_s_barrier() __syncthreads()
#define __builtin_amdgcn_wave_barrier() __syncwarp()
#define __builtin_amdgcn_fence(order, scope) __threadfence_system()
#define __builtin_amdgcn_s_sleep(cycles) ((void)0)
#define __builtin_amdgcn_sched_barrier(mask) ((void)0)
#define __builtin_amdgcn_rcpf(x) (1.0f / (x))
#define __builtin_amdgcn_sqrtf(x) sqrtf(x)
#define __builtin_amdgcn_rsqf(x) rsqrtf(x)
#define __builtin_amdgcn_readlane(value, lane) ((int)__shfl_sync(0xffffffffu, (int)(value), (lane)))
#define __builtin_amdgcn_readfirstlane(value) \
  ((int)__shfl_sync(__activemask(), (int)(value), __ffs(__activemask()) - 1))
#define __builtin_amdgcn_ds_bpermute(address, value) ((int)__shfl_sync(0xffffffffu, (int)(value), (int)(address) >> 2))
#define __builtin_amdgcn_mbcnt_lo(mask, base) (__popc((mask) & ((1u << __lane_id()) - 1)) + (base))
#define __builtin_amdgcn_mbcnt_hi(mask, base) (base)
#ifdef __CUDA_ARCH__
#define __HIP_DEVICE_COMPILE__ 1
#endif
#endif
