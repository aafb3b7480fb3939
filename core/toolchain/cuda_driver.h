// NVIDIA's driver, opened at run time: libcuda is never linked, so one binary runs on machines with and without it. The
// recorder (inside a user's process, where libcuda is loaded already) and the CUDA device share this table. Functions
// that old drivers lack are null: test them before use. This header includes <cuda.h>.
#pragma once
#include <cuda.h>

#include <string>

#include "core/base/result.h"

// cuda.h maps names to their newest ABI by macros (cuMemAlloc is cuMemAlloc_v2): a member is spelled driver.cuMemAlloc
// and looked up by the name that the macro expands to.
// clang-format off
#define KL_CUDA_REQUIRED(X) \
  X(cuInit) X(cuDriverGetVersion) X(cuDeviceGet) X(cuDeviceGetCount) X(cuDeviceGetName) X(cuDeviceGetAttribute) \
  X(cuDeviceTotalMem) X(cuDeviceGetUuid) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease) X(cuCtxGetCurrent) \
  X(cuCtxSetCurrent) X(cuCtxPushCurrent) X(cuCtxPopCurrent) X(cuCtxGetDevice) X(cuCtxSynchronize) X(cuCtxGetLimit) \
  X(cuCtxSetLimit) X(cuCtxGetCacheConfig) X(cuGetErrorName) X(cuGetErrorString) X(cuModuleLoadDataEx) \
  X(cuModuleUnload) X(cuModuleGetFunction) X(cuModuleGetGlobal) X(cuFuncGetAttribute) X(cuFuncSetAttribute) \
  X(cuFuncGetModule) X(cuLaunchKernel) X(cuLaunchKernelEx) X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(cuMemAlloc) X(cuMemFree) X(cuMemAllocHost) X(cuMemFreeHost) X(cuMemHostRegister) X(cuMemHostUnregister) \
  X(cuMemGetInfo) X(cuMemGetAddressRange) X(cuPointerGetAttribute) X(cuPointerGetAttributes) X(cuMemcpyDtoH) \
  X(cuMemcpyHtoD) X(cuMemcpyDtoD) X(cuMemcpyDtoHAsync) X(cuMemcpyHtoDAsync) X(cuMemcpyDtoDAsync) X(cuMemsetD8) \
  X(cuMemsetD8Async) X(cuMemsetD32Async) X(cuMemAddressReserve) X(cuMemAddressFree) X(cuMemCreate) X(cuMemRelease) \
  X(cuMemMap) X(cuMemUnmap) X(cuMemSetAccess) X(cuMemGetAllocationGranularity) X(cuStreamCreate) X(cuStreamDestroy) \
  X(cuStreamSynchronize) X(cuStreamQuery) X(cuStreamIsCapturing) X(cuStreamWaitEvent) X(cuEventCreate) \
  X(cuEventDestroy) X(cuEventRecord) X(cuEventQuery) X(cuEventSynchronize) X(cuEventElapsedTime)
#define KL_CUDA_OPTIONAL(X) \
  X(cuKernelGetParamInfo) X(cuFuncGetParamInfo) X(cuKernelGetName) X(cuFuncGetName) X(cuKernelGetFunction) \
  X(cuKernelGetLibrary) X(cuKernelGetAttribute) X(cuLibraryGetModule) X(cuLibraryGetGlobal) X(cuLibraryGetManaged) \
  X(cuModuleEnumerateFunctions) X(cuModuleGetFunctionCount) X(cuFuncIsLoaded) X(cuFuncLoad) \
  X(cuMemRetainAllocationHandle) X(cuMemGetAllocationPropertiesFromHandle) X(cuThreadExchangeStreamCaptureMode) \
  X(cuStreamGetCaptureInfo) X(cuCtxGetId) X(cuCtxResetPersistingL2Cache) X(cuGraphExecKernelNodeSetParams) \
  X(cuGraphGetNodes) X(cuGraphNodeGetType) X(cuGraphKernelNodeGetParams) X(cuGraphGetEdges) \
  X(cuGraphKernelNodeGetAttribute) X(cuGraphNodeGetEnabled) X(cuGraphNodeSetEnabled) X(cuGraphLaunch) \
  X(cuGetProcAddress) X(cuFuncSetCacheConfig) X(cuMemGetAccess) X(cuTexObjectGetResourceDesc) \
  X(cuTexObjectGetTextureDesc) X(cuTexObjectGetResourceViewDesc) X(cuSurfObjectGetResourceDesc) X(cuTexObjectCreate) \
  X(cuTexObjectDestroy) X(cuSurfObjectCreate) X(cuSurfObjectDestroy) X(cuArray3DCreate) X(cuArrayDestroy) \
  X(cuArray3DGetDescriptor) X(cuMemcpy3DAsync)
// clang-format on

namespace kernelift {

struct CudaDriver {
#define KL_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
  KL_CUDA_REQUIRED(KL_CUDA_MEMBER)
  KL_CUDA_OPTIONAL(KL_CUDA_MEMBER)
#undef KL_CUDA_MEMBER

  /// The process's only table, opened at the first call. An Environment error says that there is no driver, or that it
  /// is too old and which function it lacks. cuInit is not called: the recorder must not call it, the CUDA device does.
  static Result<const CudaDriver*> open();
};

/// "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
std::string cuda_error_text(const CudaDriver& driver, CUresult result);

}  // namespace kernelift
