// Device printf in all its formats, in order with the host's; a failed assert is sticky until the device is reset.
#include <cuda_runtime.h>
#include <cassert>
#include "check.h"

__global__ void speak(const char* who, double x) {
  if (threadIdx.x == 1) printf("[%s] %d %u %5.2f %e %c %x %lld %%\n", who, -3, 7u, x, 12345.678, 'z', 255, 1ll << 40);
  int written = printf("");
  assert(written == 0);
}
__global__ void check_all(int limit) { assert(threadIdx.x < limit && "limit holds"); }

int main() {
  char text[] = "device", *device_text = on_device(text, sizeof text);
  printf("before\n");
  speak<<<1, 2>>>(device_text, 3.14159);
  CUDA(cudaDeviceSynchronize());
  printf("after\n");
  check_all<<<2, 32>>>(32);
  CUDA(cudaDeviceSynchronize());
  check_all<<<2, 32>>>(31);
  CHECK(cudaDeviceSynchronize() == cudaErrorAssert);
  CHECK(cudaDeviceSynchronize() == cudaErrorAssert);
  void* memory;
  CHECK(cudaMalloc(&memory, 4) == cudaErrorAssert);
  CUDA(cudaDeviceReset());
  check_all<<<2, 32>>>(32);
  CUDA(cudaDeviceSynchronize());
  return PASS();
}
