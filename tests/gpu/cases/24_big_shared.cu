// Case 24a: 96 KiB of dynamic shared memory, which a kernel gets only after its attribute was set, and deep recursion,
// which needs a larger stack than the default. A replay that sets neither fails to launch or faults.
//! instances: large_tile >= 1
//! instances: recurse >= 1
//! setting: large_tile max_dynamic_shared
//! setting: recurse stack
//! replay: large_tile
//! replay: recurse
//! breaks: drop-settings recurse
#include "case.h"

__global__ void large_tile(const float* from, float* to, int words) {
  extern __shared__ float tile[];
  for (int i = threadIdx.x; i < words; i += blockDim.x) tile[i] = from[i] + 1;
  __syncthreads();
  for (int i = threadIdx.x; i < words; i += blockDim.x) to[i] = tile[words - 1 - i];
}

__device__ __noinline__ int deep(int level, int seed) {
  volatile int kept[64];
  for (int i = 0; i < 64; ++i) kept[i] = seed + i;
  if (level == 0) return kept[seed & 63];
  return deep(level - 1, seed * 3 + 1) + kept[level & 63];
}

__global__ void recurse(int* to, int levels) { to[threadIdx.x] = deep(levels, int(threadIdx.x)); }

int main() {
  constexpr int kWords = 24 << 10, kLevels = 100;
  auto* from = device_array(ramp(kWords));
  auto* to = device_array(std::vector<float>(kWords, 0.0f));
  CUDA(cudaFuncSetAttribute(large_tile, cudaFuncAttributeMaxDynamicSharedMemorySize, kWords * int(sizeof(float))));
  large_tile<<<1, 512, kWords * sizeof(float)>>>(from, to, kWords);
  CUDA(cudaGetLastError());
  CUDA(cudaDeviceSetLimit(cudaLimitStackSize, 64 << 10));
  auto* deep_to = device_array(std::vector<int>(64, 0));
  recurse<<<1, 64>>>(deep_to, kLevels);
  CUDA(cudaGetLastError());
  auto got = host_copy(to, kWords);
  auto deepest = host_copy(deep_to, 64);
  print_hash("to", got);
  print_hash("deep", deepest);
  return end(got[0] == ramp(kWords)[kWords - 1] + 1);
}
