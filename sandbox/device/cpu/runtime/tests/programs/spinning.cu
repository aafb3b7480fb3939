// Threads that wait for each other without barriers: locks, a flag between blocks, a volatile warp reduction.
#include <cuda_runtime.h>
#include "check.h"

__device__ int mutex_word, total;
__device__ volatile int flags[64];
__device__ int chain[64];

__global__ void locked() {
  bool done = false;
  while (!done) {
    if (atomicCAS(&mutex_word, 0, 1) == 0) {
      total = total + 1;
      __threadfence();
      atomicExch(&mutex_word, 0);
      done = true;
    }
  }
}

__global__ void relay() {  // Each block waits for the one before: scan in one pass.
  if (threadIdx.x == 0) {
    int before = 0;
    if (blockIdx.x > 0) {
      while (flags[blockIdx.x - 1] == 0) {}
      __threadfence();
      before = *(volatile int*)&chain[blockIdx.x - 1];
    }
    chain[blockIdx.x] = before + blockIdx.x;
    __threadfence();
    flags[blockIdx.x] = 1;
  }
}

__global__ void warp_reduce(const int* in, int* out) {  // The idiom of old: lockstep without synchronisation.
  __shared__ volatile int part[64];
  int t = threadIdx.x;
  part[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  if (t < 32) {
    part[t] += part[t + 32];
    part[t] += part[t + 16];
    part[t] += part[t + 8];
    part[t] += part[t + 4];
    part[t] += part[t + 2];
    part[t] += part[t + 1];
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

int main() {
  int value, in[256], sums[4];
  locked<<<8, 64>>>();
  CUDA(cudaMemcpyFromSymbol(&value, total, sizeof value));
  CHECK(value == 512);
  relay<<<64, 32>>>();
  int last[64];
  CUDA(cudaMemcpyFromSymbol(last, chain, sizeof last));
  CHECK(last[63] == 63 * 64 / 2);
  for (int i = 0; i < 256; ++i) in[i] = i;
  int *device_in = on_device(in, 256), *device_sums = on_device<int>(nullptr, 4);
  warp_reduce<<<4, 64>>>(device_in, device_sums);
  to_host(sums, device_sums, 4);
  for (int b = 0; b < 4; ++b) CHECK(sums[b] == 64 * 64 * b + 63 * 32);
  return PASS();
}
