// Case 10: a __device__ variable holds an address, and the address of another variable is passed as an argument. In a
// candidate's image variables have other addresses: the argument must be changed to the new address, and the pointer
// variable must be restored. The damage removes the variables.
//! instances: through_variable >= 1
//! replay: through_variable
//! breaks: drop-variables
#include "case.h"

__device__ float* work;
__device__ float factors[8];

__global__ void through_variable(const float* factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) work[i] = work[i] * factor[i & 7] + 1;
}

int main() {
  constexpr int kCount = 4096;
  auto* buffer = device_array(ramp(kCount));
  CUDA(cudaMemcpyToSymbol(work, &buffer, sizeof buffer));
  CUDA(cudaMemcpyToSymbol(factors, ramp(8, 2).data(), 8 * sizeof(float)));
  void* address = nullptr;
  CUDA(cudaGetSymbolAddress(&address, factors));
  through_variable<<<kCount / 256, 256>>>(static_cast<const float*>(address), kCount);
  auto got = host_copy(buffer, kCount);
  print_hash("buffer", got);
  return end(got[77] == ramp(kCount)[77] * ramp(8, 2)[5] + 1);
}
