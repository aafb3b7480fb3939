// Atomics on global and shared memory, of every common type; fences; the last block to finish sums up.
#include <cuda_runtime.h>
#include "check.h"

struct Totals {
  int add, low, high, bits, exchanged;
  unsigned wrapped, done;
  unsigned long long wide;
  float real;
  double twice;
};
__device__ Totals totals;
__device__ int parts[64];
__device__ int grand_total;

__device__ double slow_add(double* address, double value) {  // The loop from the programming guide.
  unsigned long long *word = (unsigned long long*)address, old = *word, assumed;
  do {
    assumed = old;
    old = atomicCAS(word, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
  } while (assumed != old);
  return __longlong_as_double(old);
}

__global__ void count(double* sum) {
  __shared__ int local;
  __shared__ bool last;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) local = 0;
  __syncthreads();
  atomicAdd(&totals.add, 1);
  atomicMin(&totals.low, -i);
  atomicMax(&totals.high, i);
  atomicOr(&totals.bits, 1 << i % 31);
  atomicExch(&totals.exchanged, 77);
  atomicInc(&totals.wrapped, 9);
  atomicAdd(&totals.wide, 1ull << 33);
  atomicAdd(&totals.real, 0.5f);
  atomicAdd(&totals.twice, 0.25);
  atomicAdd(&local, 2);
  slow_add(sum, 1.5);
  __syncthreads();
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = local;
    __threadfence();
    last = atomicInc(&totals.done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0)
    for (int b = 0; b < gridDim.x; ++b) grand_total += ((volatile int*)parts)[b];
}

int main() {
  const int n = 50 * 128;
  double zero = 0, sum, *device_sum = on_device(&zero, 1);
  count<<<50, 128>>>(device_sum);
  Totals t;
  int grand;
  CUDA(cudaMemcpyFromSymbol(&t, totals, sizeof t));
  CUDA(cudaMemcpyFromSymbol(&grand, grand_total, sizeof grand));
  to_host(&sum, device_sum, 1);
  CHECK(t.add == n && t.low == -(n - 1) && t.high == n - 1 && t.bits == 0x7fffffff && t.exchanged == 77);
  CHECK(t.wrapped == n % 10 && t.wide == (unsigned long long)n << 33 && t.real == n / 2 && t.twice == n / 4 &&
        t.done == 0);
  CHECK(sum == 1.5 * n && grand == 2 * n);
  return PASS();
}
