// Kernels that several benchmarks of the CPU device measure.
#pragma once

namespace kernelift::cpu {

/// The sum of each block's elements, by shuffles within warps and one exchange between them.
inline constexpr const char* kShuffleSum = R"(
__global__ void shuffle_sum(int n, const float* in, float* out) {
  __shared__ float partial[32];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i];
  for (int d = 16; d; d /= 2) v += __nvvm_shfl_sync_down_f32(~0u, v, d, 31);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int d = 16; d; d /= 2) v += __nvvm_shfl_sync_down_f32(~0u, v, d, 31);
    if (threadIdx.x == 0) out[blockIdx.x] = v;
  }
}
)";

}  // namespace kernelift::cpu
