// Case 19: NaN in the output, a float sum by atomics whose order changes from run to run, and a tail that was never
// written. NaN must equal NaN, the sum is judged by the spread of the original's own results, and the tail must not
// change.
//! instances: messy >= 1
//! replay: messy
//! replay: sum_all
//! breaks: after-as-before
#include "case.h"

__global__ void messy(const float* from, float* to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = (i % 5 == 0) ? sqrtf(-1.0f - from[i] * from[i]) : from[i] * 2 + (i % 5 == 1 ? to[i] : 0.0f);
}

__global__ void sum_all(const float* from, float* sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sum, from[i] * 1.0001f);
}

int main() {
  constexpr int kCount = 100000;
  auto* from = device_array(ramp(kCount));
  float* to;
  CUDA(cudaMalloc(&to, 2 * kCount * sizeof(float)));  // The upper half stays uninitialised.
  CUDA(cudaMemset(to, 0x40, kCount * sizeof(float)));
  auto* sum = device_array(std::vector<float>{5});
  for (int step = 0; step < 3; ++step) {
    messy<<<(kCount + 255) / 256, 256>>>(from, to, kCount);
    sum_all<<<(kCount + 255) / 256, 256>>>(from, sum, kCount);
  }
  auto got = host_copy(to, kCount);
  float total = host_copy(sum, 1)[0];
  double wanted = 5;
  for (float value : ramp(kCount)) wanted += 3 * 1.0001 * double(value);
  return end(std::isnan(got[5]) && got[7] == ramp(kCount)[7] * 2 &&
             std::fabs(total - wanted) < 1e-3 * std::fabs(wanted));
}
