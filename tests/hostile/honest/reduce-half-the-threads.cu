// Blocks of half the size, each thread with two values.
//! kernel reduce
//! devices both
//! launch reduce; gx, gy, gz; bx / 2, by, bz; 0
__global__ void reduce(const float* in, float* partial, int n) {
  __shared__ float sums[128];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  sums[t] = (i < n ? in[i] : 0.0f) + (i + 128 < n ? in[i + 128] : 0.0f);
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (t < half) sums[t] += sums[t + half];
    __syncthreads();
  }
  if (t == 0) partial[blockIdx.x] = sums[0];
}
