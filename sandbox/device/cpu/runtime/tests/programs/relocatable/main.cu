// Uses the other unit's functions, variables and kernel; its own static counter has the same name as the other's.
#include <cuda_runtime.h>
#include "../check.h"
#include "shared.h"

static __device__ int private_counter = 1000;
__global__ void evaluate(float* out) {
  out[threadIdx.x] = polynomial(float(threadIdx.x));
  atomicAdd(&private_counter, 1);
}

int main() {
  float values[4] = {1, 2, 3, 4}, out[10], *device = on_device<float>(nullptr, 10);
  CUDA(cudaMemcpyToSymbol(coefficients, values, sizeof values));
  evaluate<<<1, 10>>>(device);
  to_host(out, device, 10);
  for (int x = 0; x < 10; ++x) CHECK(out[x] == 1 + 2 * x + 3 * x * x + 4 * x * x * x);
  count_up<<<2, 8>>>(3);
  int counter = 0;
  CUDA(cudaMemcpyFromSymbol(&counter, shared_counter, sizeof counter));
  CHECK(counter == 5 + 48);
  CUDA(cudaMemcpyFromSymbol(&counter, private_counter, sizeof counter));
  CHECK(counter == 1010);
  CHECK(count_second(7) == 7);
  return PASS();
}
