// Kernels that go wrong: a null pointer, an overrun, endless recursion in a kernel with barriers, __trap; each is an
// error that stays until the device is reset, and the process lives on.
#include <cuda_runtime.h>
#include "check.h"

__global__ void store(int* p, int i) { p[i] = 1; }
__global__ void overrun(int* p) { p[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
__global__ void with_barrier(int* p) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (__shfl_sync(0xffffffffu, s[threadIdx.x], 3) == 3) p[s[threadIdx.x ^ 1] - 1000000000] = 5;
}
__device__ int deepen(int n, const int* p) {
  int local[64];
  local[n & 63] = p[0] + n;
  return p[0] < 0 ? local[3] : deepen(n + 1, p) + local[(n + p[0]) & 63];
}
__global__ void recurse(int* p) {
  *p = deepen(0, p);
  __syncwarp();
}
__global__ void stop() {
  if (threadIdx.x == 17) __trap();
}

template <class Launch>
void expect(cudaError_t want, Launch launch) {
  launch();
  cudaError_t got = cudaDeviceSynchronize();
  if (got != want) {
    std::printf("FAIL want %s got %s\n", cudaGetErrorName(want), cudaGetErrorName(got));
    std::exit(1);
  }
  void* memory;
  CHECK(cudaMalloc(&memory, 4) == want && cudaGetLastError() == want);
  CUDA(cudaDeviceReset());
  int value = 0, *device = on_device(&value, 1);
  store<<<1, 1>>>(device, 0);
  to_host(&value, device, 1);
  CHECK(value == 1);
}

int main() {
  expect(cudaErrorIllegalAddress, [] { store<<<1, 1>>>(nullptr, 0); });
  expect(cudaErrorIllegalAddress, [] { overrun<<<4096, 256>>>(on_device<int>(nullptr, 1 << 18)); });
  expect(cudaErrorIllegalAddress, [] { with_barrier<<<2, 64>>>(on_device<int>(nullptr, 64)); });
  expect(cudaErrorIllegalAddress, [] {
    int zero = 0;
    recurse<<<1, 32>>>(on_device(&zero, 1));
  });
  expect(cudaErrorLaunchFailure, [] { stop<<<3, 64>>>(); });
  return PASS();
}
