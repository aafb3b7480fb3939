// An ordinary application: a kernel that works in place on cudaMalloc'd memory, with constant, device and static module
// variables. Every launch adds one, so that an image shows which launch it is of.
#include "extractor/record/tests/cuda/check.h"

__constant__ float scale[4];
static __constant__ int offset_table[4];
__device__ int counter;
static __device__ float* indirect;
namespace {
__device__ int hidden;
}

__global__ void step(float* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += scale[i % 4] * float(offset_table[i % 4]);
  if (i == 0) atomicAdd(&counter, 1), hidden += 2, indirect[0] += 1;
}

int main(int argc, char** argv) {
  int launches = argc > 1 ? std::atoi(argv[1]) : 20, n = 1 << 20;
  float *data, *other, ones[4] = {1, 1, 1, 1};
  int offsets[4] = {1, 1, 1, 1};
  CHECK(cudaMalloc(&data, n * sizeof(float)));
  CHECK(cudaMalloc(&other, 256));
  CHECK(cudaMemset(data, 0, n * sizeof(float)));
  CHECK(cudaMemset(other, 0, 256));
  CHECK(cudaMemcpyToSymbol(scale, ones, sizeof ones));
  CHECK(cudaMemcpyToSymbol(offset_table, offsets, sizeof offsets));
  CHECK(cudaMemcpyToSymbol(indirect, &other, sizeof other));
  for (int i = 0; i < launches; ++i) step<<<n / 256, 256>>>(data, n);
  CHECK(cudaDeviceSynchronize());
  float first;
  int count;
  CHECK(cudaMemcpy(&first, data, sizeof first, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
  std::printf("data[0] = %g, counter = %d\n", first, count);
  return first == float(launches) && count == launches ? 5 : 1;
}
