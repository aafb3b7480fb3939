// Defines what main.cu uses.
#include <cuda_runtime.h>
#include "../check.h"
#include "shared.h"

__device__ int shared_counter = 5;
__constant__ float coefficients[4];
static __device__ int private_counter;

__device__ float polynomial(float x) {
  return coefficients[0] + x * (coefficients[1] + x * (coefficients[2] + x * coefficients[3]));
}
__global__ void count_up(int by) { atomicAdd(&shared_counter, by); }
__global__ void bump() { ++private_counter; }

int count_second(int times) {
  for (int i = 0; i < times; ++i) bump<<<1, 1>>>();
  int value = 0;
  CUDA(cudaMemcpyFromSymbol(&value, private_counter, sizeof value));
  return value;
}
