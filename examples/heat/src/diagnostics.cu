#include "diagnostics.h"

#include "config.h"
#include "cuda_check.h"

namespace heat {
namespace {

// Each thread sums one row: the threads of a warp read with a stride of nx.
__global__ void row_profile_kernel(Extent extent, const float* temperature, float* profile) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= extent.ny * extent.nz) return;
  float sum = 0.0;
  for (int x = 0; x < extent.nx; ++x) sum += temperature[extent.at(x, row % extent.ny, row / extent.ny)];
  atomicAdd(&profile[row % extent.ny], sum / (extent.nx * extent.nz));
}

// Non-negative floats have the same order as their bit patterns.
__global__ void largest_change_kernel(int n, const float* a, const float* b, unsigned int* largest) {
  extern __shared__ float block_largest[];
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    mine = fmaxf(mine, fabsf(a[i] - b[i]));
  block_largest[threadIdx.x] = mine;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    if (threadIdx.x < half)
      block_largest[threadIdx.x] = fmaxf(block_largest[threadIdx.x], block_largest[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicMax(largest, __float_as_uint(block_largest[0]));
}

}  // namespace

std::vector<float> row_profile(const Extent& extent, const float* temperature, float* scratch) {
  std::vector<float> profile(extent.ny);
  int rows = extent.ny * extent.nz;
  CUDA_CHECK(cudaMemset(scratch, 0, profile.size() * sizeof(float)));
  row_profile_kernel<<<divide_up(rows, 64), 64>>>(extent, temperature, scratch);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(profile.data(), scratch, profile.size() * sizeof(float), cudaMemcpyDeviceToHost));
  return profile;
}

float largest_change(int n, const float* a, const float* b, float* scratch) {
  float largest = 0;
  CUDA_CHECK(cudaMemset(scratch, 0, sizeof(float)));
  largest_change_kernel<<<divide_up(n, 16 * kReduceBlock), kReduceBlock, kReduceBlock * sizeof(float)>>>(
      n, a, b, reinterpret_cast<unsigned int*>(scratch));
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(&largest, scratch, sizeof largest, cudaMemcpyDeviceToHost));
  return largest;
}

}  // namespace heat
