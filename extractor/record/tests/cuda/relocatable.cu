// Relocatable code of two files (the other is relocatable_b.inc.cu), each with a static kernel and static variables of
// the same names, linked into one module.
#include "check.h"

static __device__ float scale = 1;
static __constant__ int table[4];
static __global__ void namesake(float* values) { values[threadIdx.x] += scale * float(table[1]); }

void run_other(float* values);

int main() {
  float host[32] = {}, factor = 3;
  int numbers[4] = {1, 2, 3, 4};
  float* values = nullptr;
  CHECK(cudaMalloc(&values, sizeof host));
  CHECK(cudaMemcpy(values, host, sizeof host, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyToSymbol(scale, &factor, sizeof factor));
  CHECK(cudaMemcpyToSymbol(table, numbers, sizeof numbers));
  namesake<<<1, 32>>>(values);
  run_other(values);
  CHECK(cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost));
  std::printf("%g\n", host[5]);
  return host[5] == 6 - 5 ? 0 : 1;
}
