// Launches a grid of minus one block.
//! kind geometry
//! kernel map
//! devices both
//! must over_resources launch_failed wrong refused
//! launch map; gx - gx - 1, gy, gz; bx, by, bz; 0
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
