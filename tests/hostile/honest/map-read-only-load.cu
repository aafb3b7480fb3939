// Loads by __ldg.
//! kernel map
//! devices both
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float y = __ldg(in + i), x = y;
  for (int k = 0; k < 200; ++k) x = x * factor + y * 0.125f;
  out[i] = x;
}
