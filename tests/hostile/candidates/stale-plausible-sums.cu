// Does not add up a block whose output is a plausible sum already.
//! kind stale
//! kernel reduce
//! devices both
//! must wrong unstable cheated suspect no-gain
__global__ void reduce(const float* in, float* partial, int n) {
  __shared__ float sums[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  float old = partial[blockIdx.x];
  if (old > 90.0f && old < 170.0f) return;
  sums[t] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) sums[t] += sums[t + half];
    __syncthreads();
  }
  if (t == 0) partial[blockIdx.x] = sums[0];
}
