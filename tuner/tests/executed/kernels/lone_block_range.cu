//! original | block 128 | grid 1 | at n=1000
__global__ void lone_block_range(const float* x, float* range, int n) {
  float low = 1e30f, high = -1e30f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    low = fminf(low, x[i]);
    high = fmaxf(high, x[i]);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    low = fminf(low, __shfl_xor_sync(0xffffffffu, low, offset));
    high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, offset));
  }
  __shared__ float lows[4], highs[4];
  if (threadIdx.x % 32 == 0) {
    lows[threadIdx.x / 32] = low;
    highs[threadIdx.x / 32] = high;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < 4; ++w) {
      low = fminf(low, lows[w]);
      high = fmaxf(high, highs[w]);
    }
    *range = high - low;
  }
}
