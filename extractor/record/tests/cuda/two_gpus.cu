// One process, two GPUs, one kernel: the module's variables of each GPU are its own, though the kernel's handle is one.
#include "extractor/record/tests/cuda/check.h"

__constant__ int factor;
__device__ int calls;

__global__ void add_factor(int* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) ++calls;
  if (i < n) data[i] += factor;
}

int main() {
  constexpr int kCount = 1 << 16;
  int* data[2];
  for (int gpu = 0; gpu < 2; ++gpu) {
    int own = 10 + gpu;
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaMalloc(&data[gpu], kCount * sizeof(int)));
    CHECK(cudaMemset(data[gpu], 0, kCount * sizeof(int)));
    CHECK(cudaMemcpyToSymbol(factor, &own, sizeof own));
  }
  for (int i = 0; i < 20; ++i) {
    CHECK(cudaSetDevice(i % 2));
    add_factor<<<kCount / 256, 256>>>(data[i % 2], kCount);
  }
  int sum = 0;
  for (int gpu = 0; gpu < 2; ++gpu) {
    int first = 0;
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaMemcpy(&first, data[gpu], sizeof first, cudaMemcpyDeviceToHost));
    std::printf("%d\n", first), sum += first;
  }
  return sum == 210 ? 0 : 1;
}
