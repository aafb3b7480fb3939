// Case 14b: other threads launch kernels continuously and write memory that the captured kernel can reach but does not
// access. A recorder that lets them launch between its first and its second image records their writes as this
// kernel's, or never finds the device idle.
//! record: --kernel steady
//! launches: steady == 60
//! instances: steady >= 2
//! replay: steady
//! breaks: after-as-before
#include <atomic>

#include "case.h"

__global__ void steady(float* values, int n, int* tally) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = values[i] * 0.5f + 3;
  if (n < 0) tally[i] = 0;
}

__global__ void count(int* tally, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) ++tally[i];
}

int main() {
  constexpr int kCount = 1 << 18, kTally = 1 << 22;
  auto* values = device_array(ramp(kCount));
  auto* tally = device_array(std::vector<int>(kTally));
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      cudaStream_t stream;
      CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      while (!done) {
        count<<<64, 256, 0, stream>>>(tally, kTally);
        CUDA(cudaStreamSynchronize(stream));
      }
    });
  for (int step = 0; step < 60; ++step) {
    steady<<<kCount / 256, 256>>>(values, kCount, tally);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  done = true;
  for (auto& thread : threads) thread.join();
  CUDA(cudaDeviceSynchronize());
  auto got = host_copy(values, kCount);
  print_hash("values", got);
  float wanted = ramp(kCount)[3];
  for (int step = 0; step < 60; ++step) wanted = wanted * 0.5f + 3;
  return end(got[3] == wanted);
}
