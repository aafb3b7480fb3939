// Adds up in double precision.
//! kernel reduce
//! devices both
__global__ void reduce(const float* in, float* partial, int n) {
  __shared__ double sums[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  sums[t] = i < n ? in[i] : 0.0;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (t < half) sums[t] += sums[t + half];
    __syncthreads();
  }
  if (t == 0) partial[blockIdx.x] = (float)sums[0];
}
