// Defines what main.cu uses.
#include <cuda_runtime.h>
#include "../check.h"
#include "shared.h"

__device__ int shared_counter = 5;
__constant__ float coefficients[4];
__device__ int second_counter;

__device__ float polynomial(float x) { return coefficients[0] + x * (coefficients[1] + x * (coefficients[2] + x * coefficients[3])); }
__global__ void count_up(int by) { atomicAdd(&shared_counter, by); }
__global__ void bump() { ++second_counter; }

int count_second(int times) {
  for (int i = 0; i < times; ++i) bump<<<1, 1>>>();
  int value = 0;
  CUDA(cudaMemcpyFromSymbol(&value, second_counter, sizeof value));
  return value;
}
