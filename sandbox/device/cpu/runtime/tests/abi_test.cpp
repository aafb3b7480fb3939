// Our own declarations of CUDA's types (abi.h) against a cuda_runtime_api.h: this file is compiled once with our lean
// headers and, where there is a toolkit, once with NVIDIA's.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "sandbox/device/cpu/runtime/abi_textures.h"

namespace ours = kernelift::cudart;

#define EXPECT_SAME_SIZE(type) EXPECT_EQ(sizeof(ours::type), sizeof(::type)) << #type
#define EXPECT_SAME_PLACE(type, field) \
  EXPECT_EQ(offsetof(ours::type, field), offsetof(::type, field)) << #type "::" #field
#define EXPECT_SAME_NUMBER(name) EXPECT_EQ(int(ours::name), int(::name)) << #name

namespace {

TEST(KL_ABI_SUITE, StructsAreLaidOutAlike) {
  EXPECT_SAME_SIZE(dim3);
  EXPECT_SAME_SIZE(cudaExtent);
  EXPECT_SAME_SIZE(cudaPos);
  EXPECT_SAME_SIZE(cudaPitchedPtr);
  EXPECT_SAME_PLACE(cudaPitchedPtr, ysize);
  EXPECT_SAME_SIZE(cudaChannelFormatDesc);
  EXPECT_SAME_SIZE(cudaMemcpy3DParms);
  EXPECT_SAME_PLACE(cudaMemcpy3DParms, srcPtr);
  EXPECT_SAME_PLACE(cudaMemcpy3DParms, dstPos);
  EXPECT_SAME_PLACE(cudaMemcpy3DParms, extent);
  EXPECT_SAME_PLACE(cudaMemcpy3DParms, kind);
  EXPECT_SAME_SIZE(cudaMemLocation);
  EXPECT_SAME_SIZE(cudaMemAccessDesc);
  EXPECT_SAME_SIZE(cudaPointerAttributes);
  EXPECT_SAME_PLACE(cudaPointerAttributes, device);
  EXPECT_SAME_PLACE(cudaPointerAttributes, devicePointer);
  EXPECT_SAME_PLACE(cudaPointerAttributes, hostPointer);
  EXPECT_SAME_SIZE(cudaFuncAttributes);
  EXPECT_SAME_PLACE(cudaFuncAttributes, maxThreadsPerBlock);
  EXPECT_SAME_PLACE(cudaFuncAttributes, numRegs);
  EXPECT_SAME_PLACE(cudaFuncAttributes, maxDynamicSharedSizeBytes);
  EXPECT_SAME_SIZE(cudaLaunchConfig_t);
  EXPECT_SAME_PLACE(cudaLaunchConfig_t, attrs);
  EXPECT_SAME_PLACE(cudaLaunchConfig_t, numAttrs);
  EXPECT_SAME_SIZE(cudaLaunchAttribute);
  EXPECT_SAME_PLACE(cudaLaunchAttribute, val);
}

TEST(KL_ABI_SUITE, TexturesAndTheirResourcesAreLaidOutAlike) {
  EXPECT_SAME_SIZE(cudaResourceDesc);
  EXPECT_SAME_PLACE(cudaResourceDesc, res.array.array);
  EXPECT_SAME_PLACE(cudaResourceDesc, res.linear.sizeInBytes);
  EXPECT_SAME_PLACE(cudaResourceDesc, res.pitch2D.desc);
  EXPECT_SAME_PLACE(cudaResourceDesc, res.pitch2D.pitchInBytes);
  EXPECT_SAME_PLACE(cudaResourceDesc, flags);
  EXPECT_SAME_SIZE(cudaTextureDesc);
  EXPECT_SAME_PLACE(cudaTextureDesc, borderColor);
  EXPECT_SAME_PLACE(cudaTextureDesc, normalizedCoords);
  EXPECT_SAME_PLACE(cudaTextureDesc, seamlessCubemap);
  EXPECT_SAME_NUMBER(cudaChannelFormatKindFloat);
  EXPECT_SAME_NUMBER(cudaResourceTypePitch2D);
  EXPECT_SAME_NUMBER(cudaAddressModeBorder);
  EXPECT_SAME_NUMBER(cudaFilterModeLinear);
  EXPECT_SAME_NUMBER(cudaReadModeNormalizedFloat);
}

TEST(KL_ABI_SUITE, DevicePropertiesAreLaidOutAlike) {
  EXPECT_SAME_SIZE(cudaDeviceProp);
  EXPECT_SAME_PLACE(cudaDeviceProp, totalGlobalMem);
  EXPECT_SAME_PLACE(cudaDeviceProp, maxGridSize);
  EXPECT_SAME_PLACE(cudaDeviceProp, major);
  EXPECT_SAME_PLACE(cudaDeviceProp, multiProcessorCount);
  EXPECT_SAME_PLACE(cudaDeviceProp, maxSurfaceCubemapLayered);
  EXPECT_SAME_PLACE(cudaDeviceProp, concurrentKernels);
  EXPECT_SAME_PLACE(cudaDeviceProp, memoryBusWidth);
  EXPECT_SAME_PLACE(cudaDeviceProp, sharedMemPerMultiprocessor);
  EXPECT_SAME_PLACE(cudaDeviceProp, cooperativeLaunch);
  EXPECT_SAME_PLACE(cudaDeviceProp, sharedMemPerBlockOptin);
  EXPECT_SAME_PLACE(cudaDeviceProp, memoryPoolsSupported);
  EXPECT_SAME_PLACE(cudaDeviceProp, hostNumaMultinodeIpcSupported);
#ifdef KL_ABI_LEAN
  EXPECT_EQ(offsetof(ours::cudaDeviceProp, reserved), offsetof(::cudaDeviceProp, clockRate));
  EXPECT_EQ(offsetof(::cudaDeviceProp, kernelExecTimeoutEnabled) - offsetof(::cudaDeviceProp, clockRate),
            4 * sizeof(int));
  EXPECT_EQ(offsetof(::cudaDeviceProp, gcnArchName) - offsetof(::cudaDeviceProp, clockRate), 5 * sizeof(int));
#else
  EXPECT_SAME_PLACE(cudaDeviceProp, reserved);
#endif
}

TEST(KL_ABI_SUITE, NumbersAreTheSame) {
  EXPECT_SAME_NUMBER(cudaErrorInvalidValue);
  EXPECT_SAME_NUMBER(cudaErrorMemoryAllocation);
  EXPECT_SAME_NUMBER(cudaErrorInvalidConfiguration);
  EXPECT_SAME_NUMBER(cudaErrorInvalidPitchValue);
  EXPECT_SAME_NUMBER(cudaErrorInvalidSymbol);
  EXPECT_SAME_NUMBER(cudaErrorInvalidMemcpyDirection);
  EXPECT_SAME_NUMBER(cudaErrorMissingConfiguration);
  EXPECT_SAME_NUMBER(cudaErrorInvalidDeviceFunction);
  EXPECT_SAME_NUMBER(cudaErrorInvalidDevice);
  EXPECT_SAME_NUMBER(cudaErrorNoKernelImageForDevice);
  EXPECT_SAME_NUMBER(cudaErrorUnsupportedLimit);
  EXPECT_SAME_NUMBER(cudaErrorInvalidResourceHandle);
  EXPECT_SAME_NUMBER(cudaErrorIllegalState);
  EXPECT_SAME_NUMBER(cudaErrorNotReady);
  EXPECT_SAME_NUMBER(cudaErrorIllegalAddress);
  EXPECT_SAME_NUMBER(cudaErrorLaunchOutOfResources);
  EXPECT_SAME_NUMBER(cudaErrorLaunchTimeout);
  EXPECT_SAME_NUMBER(cudaErrorPeerAccessNotEnabled);
  EXPECT_SAME_NUMBER(cudaErrorAssert);
  EXPECT_SAME_NUMBER(cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_SAME_NUMBER(cudaErrorHostMemoryNotRegistered);
  EXPECT_SAME_NUMBER(cudaErrorIllegalInstruction);
  EXPECT_SAME_NUMBER(cudaErrorLaunchFailure);
  EXPECT_SAME_NUMBER(cudaErrorCooperativeLaunchTooLarge);
  EXPECT_SAME_NUMBER(cudaErrorNotPermitted);
  EXPECT_SAME_NUMBER(cudaErrorNotSupported);
  EXPECT_SAME_NUMBER(cudaErrorStreamCaptureUnsupported);
  EXPECT_SAME_NUMBER(cudaErrorStreamCaptureInvalidated);
  EXPECT_SAME_NUMBER(cudaErrorStreamCaptureMerge);
  EXPECT_SAME_NUMBER(cudaErrorStreamCaptureUnmatched);
  EXPECT_SAME_NUMBER(cudaErrorStreamCaptureUnjoined);
  EXPECT_SAME_NUMBER(cudaErrorStreamCaptureImplicit);
  EXPECT_SAME_NUMBER(cudaErrorCapturedEvent);
  EXPECT_SAME_NUMBER(cudaErrorStreamCaptureWrongThread);
  EXPECT_SAME_NUMBER(cudaErrorGraphExecUpdateFailure);
  EXPECT_SAME_NUMBER(cudaMemcpyDefault);
  EXPECT_EQ(int(ours::kMemoryManaged), int(::cudaMemoryTypeManaged));
  EXPECT_EQ(int(ours::kLaunchAttributeCooperative), int(::cudaLaunchAttributeCooperative));
  EXPECT_EQ(int(ours::kLaunchAttributeClusterDimension), int(::cudaLaunchAttributeClusterDimension));
  EXPECT_EQ(int(ours::kLaunchAttributePriority), int(::cudaLaunchAttributePriority));
}

}  // namespace
