//! original | block 64 | grid 2 | at n=300
__device__ float sum_of_warp(float v) {
  for (int k = 16; k > 0; k /= 2) v += __shfl_xor_sync(0xffffffffu, v, k);
  return v;
}
__global__ void dot_of_blocks(const float* x, const float* y, float* result, int* terms, int n) {
  __shared__ float part[2];
  float s = 0;
  int count = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    s += x[i] * y[i];
    count += x[i] > 0 ? 1 : 0;
  }
  s = sum_of_warp(s);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    float all = 0;
    for (int w = 0; w < 2; ++w) all += part[w];
    atomicAdd(result, all);
  }
  atomicAdd(terms + blockIdx.x, count);
}
