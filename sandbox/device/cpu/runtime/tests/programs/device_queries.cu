// What programs ask a device: properties, attributes, occupancy, function attributes, memory, pointers, versions.
#include <cuda_runtime.h>
#include <cstring>
#include "check.h"

__global__ void __launch_bounds__(128) bounded(float* p) { p[threadIdx.x] = 1; }
__global__ void plain(float* p) {
  __shared__ float s[1024];
  s[threadIdx.x] = p[0];
  __syncthreads();
  p[threadIdx.x] = s[threadIdx.x ^ 1];
}
extern __shared__ char big[];
__global__ void wants_shared(char* p, int n) {
  big[n - 1] = 42;
  __syncthreads();
  if (threadIdx.x == 0) *p = big[n - 1];
}

int main() {
  int devices = 0, device = -1, version = 0, value = 0, grid = 0, block = 0;
  CUDA(cudaGetDeviceCount(&devices));
  CUDA(cudaGetDevice(&device));
  CHECK(devices == 1 && device == 0 && cudaSetDevice(3) == cudaErrorInvalidDevice &&
        cudaGetLastError() == cudaErrorInvalidDevice);
  CUDA(cudaRuntimeGetVersion(&version));
  CHECK(version == CUDART_VERSION);
  cudaDeviceProp p;
  CUDA(cudaGetDeviceProperties(&p, 0));
  CHECK(std::strlen(p.name) > 0 && p.warpSize == 32 && p.maxThreadsPerBlock == 1024 && p.multiProcessorCount > 0 &&
        p.totalGlobalMem > 0);
  CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  CHECK(value == int(p.sharedMemPerBlockOptin));
  cudaFuncAttributes f;
  CUDA(cudaFuncGetAttributes(&f, plain));
  CHECK(f.sharedSizeBytes == 4096 && f.maxThreadsPerBlock == 1024 && f.numRegs > 0);
  CUDA(cudaFuncGetAttributes(&f, bounded));
  CHECK(f.maxThreadsPerBlock == 128);
  CUDA(cudaOccupancyMaxPotentialBlockSize(&grid, &block, plain));
  CHECK(grid > 0 && block > 0 && block <= 1024);
  CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, plain, 256, 0));
  CHECK(value == 8);
  float* memory = on_device<float>(nullptr, 1024);
  bounded<<<1, 256>>>(memory);
  CHECK(cudaGetLastError() == cudaErrorLaunchOutOfResources);
  bounded<<<1, 128>>>(memory);
  CUDA(cudaGetLastError());
  char *out = on_device<char>(nullptr, 1), got = 0;
  int n = 100 << 10;
  wants_shared<<<1, 32, n>>>(out, n);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CUDA(cudaFuncSetAttribute(wants_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, n));
  wants_shared<<<1, 32, n>>>(out, n);
  to_host(&got, out, 1);
  CHECK(got == 42);
  cudaPointerAttributes attributes;
  CUDA(cudaPointerGetAttributes(&attributes, memory));
  CHECK(attributes.type == cudaMemoryTypeDevice && attributes.device == 0);
  size_t free_bytes = 0, total = 0;
  CUDA(cudaMemGetInfo(&free_bytes, &total));
  CHECK(free_bytes < total && total == p.totalGlobalMem);
  plain<<<1, 2000>>>(memory);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() == cudaSuccess);
  return PASS();
}
