// Promises that buffers do not overlap, and bounds its blocks.
//! kernel map
//! devices both
__global__ void __launch_bounds__(256) map(const float* __restrict__ in, float* __restrict__ out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
