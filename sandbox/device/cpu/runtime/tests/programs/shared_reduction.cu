// Static and dynamic shared memory, every form of __syncthreads, a block size that is no multiple of the warp.
#include <cuda_runtime.h>
#include "check.h"

__global__ void sum_static(const int* in, int* out, int n) {
  __shared__ int part[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

__global__ void reverse_dynamic(int* data) {
  extern __shared__ int copy[];
  copy[threadIdx.x] = data[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  data[blockIdx.x * blockDim.x + threadIdx.x] = copy[blockDim.x - 1 - threadIdx.x];
}

__global__ void predicates(int* out) {
  int odd = threadIdx.x & 1;
  int count = __syncthreads_count(odd), all = __syncthreads_and(threadIdx.x < blockDim.x),
      any = __syncthreads_or(threadIdx.x == 70);
  int none = __syncthreads_or(threadIdx.x == 1000);
  if (threadIdx.x == 0) {
    out[0] = count;
    out[1] = all != 0;
    out[2] = any != 0;
    out[3] = none;
  }
}

int main() {
  const int n = 1000;
  int in[n], out[4], expected = 0;
  for (int i = 0; i < n; ++i) {
    in[i] = i * 7 % 31;
    expected += in[i];
  }
  int *device_in = on_device(in, n), *device_out = on_device<int>(nullptr, 4);
  sum_static<<<4, 256>>>(device_in, device_out, n);
  to_host(out, device_out, 4);
  CHECK(out[0] + out[1] + out[2] + out[3] == expected);
  reverse_dynamic<<<10, 100, 100 * sizeof(int)>>>(device_in);
  int reversed[n];
  to_host(reversed, device_in, n);
  for (int i = 0; i < n; ++i) CHECK(reversed[i] == in[i / 100 * 100 + 99 - i % 100]);
  predicates<<<1, 99>>>(device_out);
  to_host(out, device_out, 4);
  CHECK(out[0] == 49 && out[1] == 1 && out[2] == 1 && out[3] == 0);
  return PASS();
}
