// Case 12d: a cooperative launch, with a barrier over the whole grid. Tools that intercept only the plain launch miss
// it; a replay without the cooperative attribute fails to start or reads sums that other blocks have not written yet.
//! launches: total == 2
//! instances: total >= 1
//! replay: total
//! breaks: not-cooperative
#include <cooperative_groups.h>

#include "case.h"

__global__ void total(const float* from, float* partial, float* to, int n) {
  auto grid = cooperative_groups::this_grid();
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += from[i];
  __shared__ float all[256];
  all[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half; half /= 2) {
    if (threadIdx.x < half) all[threadIdx.x] += all[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = all[0];
  grid.sync();
  float whole = 0;
  for (int b = 0; b < gridDim.x; ++b) whole += partial[b];
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    to[i] = from[i] - whole / float(n);
}

int main() {
  int count = 1 << 16, blocks = 64;
  const float* from = device_array(ramp(size_t(count)));
  auto* partial = device_array(std::vector<float>(size_t(blocks), 0.0f));
  auto* to = device_array(std::vector<float>(size_t(count), 0.0f));
  void* arguments[] = {&from, &partial, &to, &count};
  for (int step = 0; step < 2; ++step)
    CUDA(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(total), dim3(unsigned(blocks)), dim3(256), arguments,
                                     0, nullptr));
  auto got = host_copy(to, size_t(count));
  print_hash("to", got);
  double mean = 0;
  for (float value : ramp(size_t(count))) mean += value;
  mean /= count;
  return end(std::fabs(got[5] - (ramp(size_t(count))[5] - mean)) < 0.01);
}
