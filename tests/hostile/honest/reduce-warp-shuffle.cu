// The last steps of the tree by shuffles.
//! kernel reduce
//! devices both
__global__ void reduce(const float* in, float* partial, int n) {
  __shared__ float sums[8];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  float sum = i < n ? in[i] : 0.0f;
  for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(0xffffffffu, sum, half);
  if (t % 32 == 0) sums[t / 32] = sum;
  __syncthreads();
  if (t < 32) {
    sum = t < 8 ? sums[t] : 0.0f;
    for (int half = 4; half > 0; half /= 2) sum += __shfl_down_sync(0xffffffffu, sum, half);
    if (t == 0) partial[blockIdx.x] = sum;
  }
}
