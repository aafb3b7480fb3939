#include "vector_ops.h"

#include "config.h"
#include "cuda_check.h"
#include "grid.h"

namespace heat {
namespace {

__global__ void axpy_kernel(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

__global__ void xpay_kernel(int n, const float* x, float a, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + a * y[i];
}

__global__ void subtract_kernel(int n, const float* x, const float* y, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] - y[i];
}

// Every block runs a grid-stride loop over the vectors, reduces in shared memory and adds its partial sum.
template <int Threads>
__global__ void dot_kernel(int n, const float* x, const float* y, float* sum) {
  __shared__ float partial[Threads];
  float mine = 0;
  for (int i = blockIdx.x * Threads + threadIdx.x; i < n; i += gridDim.x * Threads) mine += x[i] * y[i];
  partial[threadIdx.x] = mine;
  __syncthreads();
  for (int half = Threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(sum, partial[0]);
}

}  // namespace

void axpy(int n, float a, const float* x, float* y) {
  axpy_kernel<<<divide_up(n, kVectorBlock), kVectorBlock>>>(n, a, x, y);
  CUDA_CHECK(cudaGetLastError());
}

void xpay(int n, const float* x, float a, float* y) {
  xpay_kernel<<<divide_up(n, kVectorBlock), kVectorBlock>>>(n, x, a, y);
  CUDA_CHECK(cudaGetLastError());
}

void subtract(int n, const float* x, const float* y, float* out) {
  subtract_kernel<<<divide_up(n, kVectorBlock), kVectorBlock>>>(n, x, y, out);
  CUDA_CHECK(cudaGetLastError());
}

float dot(int n, const float* x, const float* y, float* scratch) {
  float sum = 0;
  CUDA_CHECK(cudaMemcpy(scratch, &sum, sizeof sum, cudaMemcpyHostToDevice));
  int blocks = divide_up(n, 16 * kReduceBlock);
  dot_kernel<kReduceBlock><<<blocks, kReduceBlock>>>(n, x, y, scratch);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(&sum, scratch, sizeof sum, cudaMemcpyDeviceToHost));
  return sum;
}

}  // namespace heat
