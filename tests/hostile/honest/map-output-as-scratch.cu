// Uses its own output for what lies between.
//! kernel map
//! devices both
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = in[i];
  for (int k = 0; k < 200; ++k) out[i] = out[i] * factor + in[i] * 0.125f;
}
