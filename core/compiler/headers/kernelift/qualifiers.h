// CUDA's qualifiers as clang attributes, and as nothing for a plain host compiler that only wants the runtime API.
// Every other lean header starts here. Not for nvcc: it brings its own.
#pragma once

#if defined(__CUDA__) && defined(__clang__)
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
/// One copy for host and device. The annotation is how lowering and runtime know the variable again.
#define __managed__ __attribute__((device)) __attribute__((annotate("kernelift_managed")))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __grid_constant__ __attribute__((grid_constant))
#define __cluster_dims__(...) __attribute__((cluster_dims(__VA_ARGS__)))
#ifndef __CUDACC__
#define __CUDACC__
#endif
#else
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __launch_bounds__(...)
#define __grid_constant__
#define __cluster_dims__(...)
#endif
#define __maxnreg__(...)
#define __block_size__(...)
#define __NV_SILENCE_DEPRECATION_BEGIN
#define __NV_SILENCE_DEPRECATION_END
// nvcc's lambdas for the device have no body on the host, and libraries ask. clang's have one.
#define __nv_is_extended_device_lambda_closure_type(...) false
#define __nv_is_extended_host_device_lambda_closure_type(...) false
#define __nv_is_extended_device_lambda_with_preserved_return_type(...) false
#define __nv_pure__ __attribute__((pure))
#define __device_builtin__
#define __cudart_builtin__
// __noinline__ is a keyword of clang's CUDA mode, and must not be a macro: libstdc++ writes
// __attribute__((__noinline__)).
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define CUDART_CB
#define __CUDA_HOSTDEVICE__ __host__ __device__
#ifdef __cplusplus
#define __dv(value) = value
#else
#define __dv(value)
#endif
