// Copies into shared memory through the pipeline's primitives, double-buffered, the last tile filled with zeros.
#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>
#include "check.h"

__global__ void sums(const float4* in, float* out, int n) {
  __shared__ float4 tiles[2][32];
  const int t = threadIdx.x, last = (n + 31) / 32;
  auto fetch = [&](int tile) {
    const int i = tile * 32 + t;
    __pipeline_memcpy_async(&tiles[tile % 2][t], in + (i < n ? i : 0), sizeof(float4), i < n ? 0 : sizeof(float4));
    __pipeline_commit();
  };
  float sum = 0;
  fetch(0);
  for (int tile = 0; tile < last; ++tile) {
    if (tile + 1 < last) fetch(tile + 1);
    __pipeline_wait_prior(tile + 1 < last ? 1 : 0);
    __syncthreads();
    const float4 v = tiles[tile % 2][31 - t];
    sum += v.x + v.y + v.z + v.w;
    __syncthreads();
  }
  atomicAdd(out, sum);
}

int main() {
  const int n = 75;
  float host[4 * n], expected = 0, sum = 0;
  for (int i = 0; i < 4 * n; ++i) expected += host[i] = float(i % 7);
  float* total = on_device(&sum, 1);
  sums<<<1, 32>>>((const float4*)on_device(host, 4 * n), total, n);
  to_host(&sum, total, 1);
  CHECK(sum == expected);
  return PASS();
}
