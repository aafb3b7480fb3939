// Case 18: the application is killed (SIGKILL) while it runs. What was finished until then must be readable, the rest
// named as missing; a half-written instance must not be taken for a whole one.
//! run: die
//! killed: 9
//! record: --instances 2
//! capture-instances: before_the_end >= 1
//! replay: before_the_end
#include <csignal>

#include "case.h"

__global__ void before_the_end(float* values, int n, float by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = values[i] * by + 1;
}

int main(int count, char**) {
  constexpr int kCount = 1 << 20;
  auto* values = device_array(ramp(kCount));
  for (int step = 0; step < 40; ++step) {
    before_the_end<<<kCount / 256, 256>>>(values, kCount, float(1 + step % 3));
    CUDA(cudaDeviceSynchronize());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::printf("about to end\n");
  std::fflush(stdout);
  if (count > 1) raise(SIGKILL);
  return end(true);
}
