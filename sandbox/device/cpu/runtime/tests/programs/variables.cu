// __constant__ and __device__ variables: initial values, copies in and out, addresses, static ones, arrays of structs.
#include <cuda_runtime.h>
#include "check.h"

struct Material {
  float density;
  int id;
};
__constant__ float weights[8] = {1, 2, 3};
static __constant__ Material materials[2];
__device__ int counter = 40;
static __device__ double table[4][4];
namespace physics {
__device__ float gravity = 9.5f;
}
__device__ int* indirect;

__global__ void use(float* out) {
  atomicAdd(&counter, 1);
  if (threadIdx.x == 0) {
    out[0] = weights[0] + weights[1] + weights[2] + weights[7];
    out[1] = materials[1].density * materials[1].id;
    out[2] = float(table[2][3]);
    out[3] = physics::gravity;
    *indirect = 123;
  }
}

int main() {
  Material host[2] = {{1, 1}, {2.5f, 4}};
  double rows[4][4] = {};
  rows[2][3] = 6.25;
  float tail = 100, out[4];
  int value = 0, *target = on_device(&value, 1);
  CUDA(cudaMemcpyToSymbol(weights, &tail, sizeof tail, 7 * sizeof(float)));
  CUDA(cudaMemcpyToSymbol(materials, host, sizeof host));
  CUDA(cudaMemcpyToSymbolAsync(table, rows, sizeof rows, 0, cudaMemcpyHostToDevice, 0));
  CUDA(cudaMemcpyToSymbol(indirect, &target, sizeof target));
  float* device_out = on_device<float>(nullptr, 4);
  use<<<1, 2>>>(device_out);
  to_host(out, device_out, 4);
  CHECK(out[0] == 106 && out[1] == 10 && out[2] == 6.25f && out[3] == 9.5f);
  CUDA(cudaMemcpyFromSymbol(&value, counter, sizeof value));
  CHECK(value == 42);
  to_host(&value, target, 1);
  CHECK(value == 123);
  void* address = nullptr;
  size_t size = 0;
  CUDA(cudaGetSymbolAddress(&address, physics::gravity));
  CUDA(cudaGetSymbolSize(&size, table));
  CHECK(size == sizeof rows);
  CUDA(cudaMemset(address, 0, sizeof(float)));
  use<<<1, 2>>>(device_out);
  to_host(out, device_out, 4);
  CHECK(out[3] == 0);
  return PASS();
}
