// Case 13c: the kernel reads and writes pinned host memory through its mapping (cudaHostAlloc and cudaHostRegister). A
// recorder that considers only device allocations misses the kernel's input.
//! instances: from_host >= 1
//! replay-or-refused: from_host (host)
//! breaks: after-as-before
#include <sys/mman.h>

#include "case.h"

__global__ void from_host(const float* from, float* to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = to[i] + from[i] * 4;
}

int main() {
  constexpr size_t kCount = 4096, kBytes = kCount * sizeof(float);
  float *pinned, *to;
  CUDA(cudaHostAlloc(&pinned, kBytes, cudaHostAllocMapped));
  for (size_t i = 0; i < kCount; ++i) pinned[i] = float(i);
  auto* registered =
      static_cast<float*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (size_t i = 0; i < kCount; ++i) registered[i] = 1;
  CUDA(cudaHostRegister(registered, kBytes, cudaHostRegisterMapped));
  CUDA(cudaHostGetDevicePointer(&to, registered, 0));
  for (int step = 0; step < 2; ++step) from_host<<<16, 256>>>(pinned, to, int(kCount));
  CUDA(cudaDeviceSynchronize());
  std::printf("%g %g\n", registered[1], registered[4095]);
  return end(registered[100] == 1 + 2 * 400);
}
