// One kernel over much memory (argv[1] MiB) of which it changes little: what capturing costs. Prints the bandwidth that
// copies from the device reach here, in MiB/s.
#include <algorithm>
#include <chrono>

#include "extractor/record/tests/cuda/check.h"

__global__ void fill(unsigned* data, size_t n, unsigned noise) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
    unsigned x = unsigned(i) * 2654435761u + unsigned(i >> 32);
    x ^= x >> 15, x *= 2246822519u, x ^= x >> 13;
    data[i] = noise ? x & noise : unsigned(i / 1024);
  }
}
__global__ void touch(unsigned* data, unsigned* out) { out[threadIdx.x] += data[threadIdx.x]; }

int main(int argc, char** argv) {
  size_t bytes = size_t(argc > 1 ? std::atoi(argv[1]) : 1024) << 20;
  int launches = argc > 2 ? std::atoi(argv[2]) : 1;
  unsigned noise = argc > 3 ? unsigned(std::strtoul(argv[3], nullptr, 0)) : 0xffffffffu;
  unsigned *data, *out, *pinned[2];
  CHECK(cudaMalloc(&data, bytes));
  CHECK(cudaMalloc(&out, 4096));
  CHECK(cudaMemset(out, 0, 4096));
  fill<<<1024, 256>>>(data, bytes / 4, noise);
  CHECK(cudaDeviceSynchronize());
  constexpr size_t kChunk = 16 << 20;
  for (auto& one : pinned) CHECK(cudaMallocHost(&one, kChunk));
  double best = 0;
  for (int round = 0; round < 3; ++round) {
    auto began = std::chrono::steady_clock::now();
    size_t most = std::min(bytes, size_t(2) << 30);
    for (size_t at = 0; at + kChunk <= most; at += kChunk)
      CHECK(cudaMemcpyAsync(pinned[at / kChunk % 2], data + at / 4, kChunk, cudaMemcpyDeviceToHost));
    CHECK(cudaDeviceSynchronize());
    best = std::max(
        best, double(most >> 20) / std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  for (int i = 0; i < launches; ++i) touch<<<1, 1024>>>(data, out);
  CHECK(cudaDeviceSynchronize());
  std::printf("%.0f\n", best);
  return 0;
}
