// Case 9: a static __constant__ table that the host fills, while another module (the second file) has one of the same
// name with other contents. Without module variables the replay multiplies by zero; with those of the other module its
// results are wrong too. The damage removes the variables from the MEP.
//! build: 09_constants_b.inc.cu
//! instances: apply_left >= 1
//! instances: apply_right >= 1
//! replay: apply_left
//! replay: apply_right
//! breaks: drop-variables
#include "case.h"

static __constant__ float table[16];
static __device__ float calls;
bool right_module(const float* from, float* to, int n);

__global__ void apply_left(const float* from, float* to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) calls += 1;
  if (i < n) to[i] = from[i] * table[i & 15];
}

int main() {
  constexpr int kCount = 4096;
  CUDA(cudaMemcpyToSymbol(table, ramp(16, 4).data(), 16 * sizeof(float)));
  float before = 41;
  CUDA(cudaMemcpyToSymbol(calls, &before, sizeof before));
  auto* from = device_array(ramp(kCount));
  auto* to = device_array(std::vector<float>(kCount, 0.0f));
  apply_left<<<kCount / 256, 256>>>(from, to, kCount);
  auto got = host_copy(to, kCount);
  float count = 0;
  CUDA(cudaMemcpyFromSymbol(&count, calls, sizeof count));
  print_hash("left", got);
  bool right = got[21] == ramp(kCount)[21] * ramp(16, 4)[5] && count == 42;
  return end(right_module(from, to, kCount) && right);
}
