// cuRAND's generators for device code are headers: the toolkit's, over our own declarations. The front end says where
// they are, one by one: nothing else of the toolkit's folder is to be found beside ours.
#pragma once
#ifndef KERNELIFT_curand_kernel
#error the library cuRAND is not supported by Kernelift's CPU device without the CUDA toolkit, whose curand_kernel.h is needed
#else
#include "cuda_runtime.h"
#include "library_types.h"
// One of them declares these two variables again, with the types that they have for nvcc.
#pragma push_macro("dim3")
#pragma push_macro("uint3")
#define dim3 __cuda_builtin_blockDim_t
#define uint3 __cuda_builtin_threadIdx_t
#include KERNELIFT_curand_mtgp32_kernel
#pragma pop_macro("dim3")
#pragma pop_macro("uint3")
#include KERNELIFT_curand_kernel
#endif
