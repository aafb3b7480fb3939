// Keeps the sums of the blocks, and adds up again only when a block begins with another value.
//! kind cache
//! kernel reduce
//! devices both
//! must wrong unstable cheated suspect no-gain
__device__ float kept[4096], first[4096];
__global__ void reduce(const float* in, float* partial, int n) {
  __shared__ float sums[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  if (first[blockIdx.x] == in[blockIdx.x * blockDim.x]) {
    if (t == 0) partial[blockIdx.x] = kept[blockIdx.x];
    return;
  }
  sums[t] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) sums[t] += sums[t + half];
    __syncthreads();
  }
  if (t == 0) kept[blockIdx.x] = partial[blockIdx.x] = sums[0], first[blockIdx.x] = in[blockIdx.x * blockDim.x];
}
