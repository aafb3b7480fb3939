// Reads the input once.
//! kernel map
//! devices both
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float y = in[i] * 0.125f;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + y;
  out[i] = x;
}
