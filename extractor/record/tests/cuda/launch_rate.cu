// What a launch costs the application: argv[1] launches of an empty kernel, then of one that runs for some
// microseconds, each timed from the host. Prints nanoseconds per launch.
#include <chrono>

#include "extractor/record/tests/cuda/check.h"

__global__ void empty(int* at, int n) {
  if (n < 0) *at = n;
}
__global__ void busy(float* data, int rounds) {
  float value = data[threadIdx.x];
  for (int i = 0; i < rounds; ++i) value = value * 0.999f + 0.5f;
  data[threadIdx.x] = value;
}

int main(int argc, char** argv) {
  int launches = argc > 1 ? std::atoi(argv[1]) : 200000;
  float* data;
  CHECK(cudaMalloc(&data, 1024 * sizeof(float)));
  CHECK(cudaMemset(data, 0, 1024 * sizeof(float)));
  auto time = [&](auto&& launch, int count) {
    for (int i = 0; i < 2000; ++i) launch();
    CHECK(cudaDeviceSynchronize());
    double best = 1e30, sum = 0;
    for (int round = 0; round < 5; ++round) {
      auto began = std::chrono::steady_clock::now();
      for (int i = 0; i < count / 5; ++i) launch();
      CHECK(cudaDeviceSynchronize());
      double each = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() / (count / 5) * 1e9;
      best = each < best ? each : best, sum += each / 5;
    }
    std::printf("%.1f %.1f ", best, sum);
  };
  time([&] { empty<<<1, 32>>>(reinterpret_cast<int*>(data), 0); }, launches);
  time([&] { busy<<<16, 256>>>(data, 2000); }, launches / 4);
  std::printf("\n");
  return 0;
}
