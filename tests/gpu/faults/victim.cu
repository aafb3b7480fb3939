// The application on which every fault is tested: one kernel, an input, an output and a check of its own. The
// statements planted in the kernel and the simulated machines are in run_faults. It uses only the CUDA runtime, so that
// it also runs on the CPU device.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <vector>

__global__ void victim(const float* from, float* to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i] * 2 + 1;
}

int main() {
  constexpr int kCount = 200000, kBytes = kCount * int(sizeof(float));
  std::vector<float> numbers(kCount), got(kCount);
  for (int i = 0; i < kCount; ++i)
    numbers[size_t(i)] = float(uint32_t(i) * 2654435761u >> 8) / 65536.0f - 100;  // Data that hardly compress.
  float *from = nullptr, *to = nullptr;
  bool fine = cudaMalloc(&from, kBytes) == cudaSuccess && cudaMalloc(&to, kBytes) == cudaSuccess &&
              cudaMemcpy(from, numbers.data(), kBytes, cudaMemcpyHostToDevice) == cudaSuccess;
  for (int step = 0; fine && step < 3; ++step) victim<<<(kCount + 127) / 128, 128>>>(from, to, kCount);
  fine = fine && cudaMemcpy(got.data(), to, kBytes, cudaMemcpyDeviceToHost) == cudaSuccess;
  for (int i = 0; fine && i < kCount; ++i) fine = got[size_t(i)] == numbers[size_t(i)] * 2 + 1;
  if (!fine) std::printf("%s\n", cudaGetErrorString(cudaGetLastError()));
  std::printf(fine ? "OK\n" : "WRONG\n");
  return fine ? 0 : 1;
}
