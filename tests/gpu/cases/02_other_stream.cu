// Case 2: work is pending on another stream when the kernel is launched. A recorder that waits only for the launch's
// own stream reads the other half of the allocation while it is being written; those writes appear as this kernel's,
// and no replay of this kernel can reproduce them. Only waiting for the whole device before the first image is right.
// The other kernel is not recorded itself, because its own images would wait for it. It writes continuously, so that
// two reads of its memory differ.
//! record: --kernel upper_half
//! launches: upper_half == 4
//! instances: upper_half >= 1
//! replay: upper_half
//! breaks: after-as-before
#include "case.h"

__global__ void slow_fill(volatile float* to, int n, float value, long long cycles) {
  long long begin = clock64();
  for (long long now = begin; now - begin < cycles; now = clock64())
    for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] = float(now & 0xffff);
  for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] = value + float(i);
}

__global__ void upper_half(float* to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = to[i] * 1.5f + 1;
}

int main() {
  constexpr int kHalf = 1 << 16;
  auto* both = device_array(ramp(2 * kHalf));
  cudaStream_t slow, quick;
  CUDA(cudaStreamCreateWithFlags(&slow, cudaStreamNonBlocking));
  CUDA(cudaStreamCreateWithFlags(&quick, cudaStreamNonBlocking));
  for (int step = 0; step < 4; ++step) {
    slow_fill<<<1, 256, 0, slow>>>(both, kHalf, float(step), 400'000'000);
    upper_half<<<kHalf / 256, 256, 0, quick>>>(both + kHalf, kHalf);
  }
  CUDA(cudaDeviceSynchronize());
  auto got = host_copy(both, 2 * kHalf);
  print_hash("both", got);
  return end(got[5] == 3 + 5.0f);
}
