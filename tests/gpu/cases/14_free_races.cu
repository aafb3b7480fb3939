// Case 14: other threads allocate, free and launch while a launch is being captured. A recorder that looks up an
// allocation and reads it later may read freed memory, or deadlock between its own lock and the driver's: the program
// must end with the same result within its time limit.
//! launches: steady == 60
//! launches: churn == 200
//! instances: steady >= 1
//! replay: steady
//! breaks: after-as-before
#include "case.h"

__global__ void steady(float* values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = values[i] * 0.5f + 3;
}

__global__ void churn(char* bytes, size_t n) {
  for (size_t i = threadIdx.x; i < n; i += blockDim.x) bytes[i] = char(i);
}

int main() {
  constexpr int kCount = 1 << 18;
  auto* values = device_array(ramp(kCount));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      cudaStream_t stream;
      CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      for (int k = 0; k < 50; ++k) {
        size_t bytes = size_t(1 + (k * 7 + t) % 13) << 16;
        char* some = nullptr;
        CUDA(cudaMalloc(&some, bytes));
        churn<<<1, 128, 0, stream>>>(some, bytes);
        CUDA(cudaFree(some));
      }
    });
  for (int step = 0; step < 60; ++step) steady<<<kCount / 256, 256>>>(values, kCount);
  for (auto& thread : threads) thread.join();
  CUDA(cudaDeviceSynchronize());
  auto got = host_copy(values, kCount);
  print_hash("values", got);
  float wanted = ramp(kCount)[3];
  for (int step = 0; step < 60; ++step) wanted = wanted * 0.5f + 3;
  return end(got[3] == wanted);
}
