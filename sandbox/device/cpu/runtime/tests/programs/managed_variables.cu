// __managed__ variables: one variable of host and device, read and written by both, with initial values before any
// launch.
#include <cuda_runtime.h>
#include "check.h"

struct Totals {
  int count;
  double sum;
};
__managed__ int total = 40;
__device__ __managed__ Totals totals = {2, 1.5};
__managed__ float table[1000];
static __managed__ int* where;
namespace app {
__managed__ unsigned char flags[3] = {1, 2, 3};
}
__device__ int plain = 7;

__device__ int* address_of_total() { return &total; }
__global__ void use() {
  atomicAdd(address_of_total(), plain);
  table[threadIdx.x] = threadIdx.x * 0.5f + app::flags[threadIdx.x % 3];
  if (threadIdx.x == 0) {
    totals.count++;
    totals.sum *= 2;
    *where += 100;
  }
}

int main() {
  CHECK(total == 40 && totals.count == 2 && totals.sum == 1.5 && app::flags[2] == 3 && table[5] == 0 && !where);
  total += 2;
  where = &totals.count;
  app::flags[0] = 10;
  use<<<1, 100>>>();
  CUDA(cudaDeviceSynchronize());
  CHECK(total == 742);
  CHECK(totals.count == 103 && totals.sum == 3);
  CHECK(table[0] == 10 && table[99] == 49.5f + 10 && table[100] == 0);

  int* address = nullptr;
  int copied = 0;
  CUDA(cudaGetSymbolAddress((void**)&address, total));
  CHECK(address == &total);
  CUDA(cudaMemcpyFromSymbol(&copied, total, sizeof copied));
  CHECK(copied == 742);
  copied = 5;
  CUDA(cudaMemcpyToSymbol(total, &copied, sizeof copied));
  CHECK(total == 5);
  CUDA(cudaMemset(table, 0, sizeof table));
  CHECK(table[99] == 0);
  cudaPointerAttributes attributes;
  CUDA(cudaPointerGetAttributes(&attributes, table + 10));
  CHECK(attributes.type == cudaMemoryTypeManaged && attributes.devicePointer == table + 10);
  return PASS();
}
