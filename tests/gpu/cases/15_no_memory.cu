// Case 15: kernels without any memory: with a null pointer, with a size of zero, and without parameters. There is
// nothing to capture, and that must not be an error.
//! launches: nothing == 2
//! launches: maybe == 2
//! launches: spin == 2
//! instances: maybe >= 1
//! replay: maybe
//! replay: nothing
#include "case.h"

__global__ void nothing() {}
__global__ void spin(int iterations) {
  for (int k = 0; k < iterations; ++k) __nanosleep(20);
}
__global__ void maybe(float* values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = 1;
}

int main() {
  for (int step = 0; step < 2; ++step) {
    nothing<<<1, 1>>>();
    spin<<<2, 32>>>(10 + step);
    maybe<<<1, 32>>>(nullptr, 0);
  }
  CUDA(cudaDeviceSynchronize());
  float* empty = nullptr;
  CUDA(cudaMemcpy(&empty, &empty, 0, cudaMemcpyHostToHost));
  return end(true);
}
