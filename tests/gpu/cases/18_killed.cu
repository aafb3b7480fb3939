// Case 18: the application is killed (SIGKILL) in the middle of a capture: the second launch has a gigabyte of memory
// that was not captured before, and a thread kills the process 10 ms after that launch. Instances finished until then
// must be readable; an incomplete instance must not be taken for a complete one.
//! run: die
//! killed: 9
//! record: --instances 4 --mib 4096
//! capture-instances: before_the_end == 1
//! replay: before_the_end
#include <atomic>
#include <csignal>

#include "case.h"

__global__ void before_the_end(unsigned* values, size_t n, unsigned by) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < n) values[i] = values[i] * by + 1;
}

int main(int count, char**) {
  constexpr size_t kSmall = 1 << 16, kLarge = size_t(1) << 28;
  auto* small = device_array(std::vector<unsigned>(kSmall, 3));
  unsigned* large = nullptr;
  CUDA(cudaMalloc(&large, kLarge * sizeof(unsigned)));
  before_the_end<<<kSmall / 256, 256>>>(small, kSmall, 2);
  CUDA(cudaDeviceSynchronize());
  std::printf("about to end\n");
  std::fflush(stdout);
  std::atomic<bool> asked{false};
  std::thread killer([&] {
    while (!asked) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (count > 1) raise(SIGKILL);
  });
  asked = true;
  before_the_end<<<unsigned(kLarge / 256), 256>>>(large, kLarge, 5);
  killer.join();
  CUDA(cudaDeviceSynchronize());
  return end(true);
}
