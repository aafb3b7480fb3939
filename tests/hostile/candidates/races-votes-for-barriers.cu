// The last warp adds up with votes in place of __syncwarp, which order no memory.
//! kind races
//! kernel reduce
//! devices both
//! must wrong unstable cheated suspect
__global__ void reduce(const float* in, float* partial, int n) {
  __shared__ float sums[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  sums[t] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (int half = 128; half > 32; half /= 2) {
    if (t < half) sums[t] += sums[t + half];
    __syncthreads();
  }
  if (t < 32)
    for (int half = 32; half > 0; half /= 2) {
      float sum = sums[t] + sums[t + half];
      __any_sync(0xffffffffu, sum > 0);
      sums[t] = sum;
      __any_sync(0xffffffffu, sum > 0);
    }
  if (t == 0) partial[blockIdx.x] = sums[0];
}
