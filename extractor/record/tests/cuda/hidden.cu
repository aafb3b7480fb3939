// A kernel that is given an address only in disguise, as applications with tagged or compressed pointers do it.
#include <cstdint>

#include "extractor/record/tests/cuda/check.h"

constexpr uint64_t kMask = 0x5555555555555555;

__global__ void disguised(uint64_t address, int* out) {
  auto* hidden = reinterpret_cast<int*>(address ^ kMask);
  hidden[threadIdx.x] += 1;
  out[threadIdx.x] = hidden[threadIdx.x];
}

int main() {
  int *hidden, *out, first = 0;
  CHECK(cudaMalloc(&hidden, 8000));
  CHECK(cudaMalloc(&out, 128));
  CHECK(cudaMemset(hidden, 0, 8000));
  disguised<<<1, 32>>>(reinterpret_cast<uint64_t>(hidden) ^ kMask, out);
  CHECK(cudaMemcpy(&first, out, sizeof first, cudaMemcpyDeviceToHost));
  std::printf("%d\n", first);
  return first == 1 ? 0 : 1;
}
