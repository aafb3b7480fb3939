// The second file of relocatable.cu.
#include "extractor/record/tests/cuda/check.h"

static __device__ float scale = -1;
static __device__ int table[4];
static __global__ void namesake(float* values) { values[threadIdx.x] += scale * float(table[1]); }

void run_other(float* values) {
  int numbers[4] = {4, 5, 6, 7};
  CHECK(cudaMemcpyToSymbol(table, numbers, sizeof numbers));
  namesake<<<1, 32>>>(values);
}
