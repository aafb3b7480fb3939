// Works in every other launch only.
//! kind clock
//! kernel map
//! devices both
//! must wrong unstable cheated suspect no-gain
__device__ int launches[4096];
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  bool lazy = launches[blockIdx.x] & 1;
  __syncthreads();
  if (threadIdx.x == 0) ++launches[blockIdx.x];
  if (lazy) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
