// Fuses what adds up.
//! kernel special
//! devices both
__global__ void special(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], y = x;
  for (int k = 0; k < 32; ++k) y = fmaf(0.5f, y, 0.5f * x);
  out[i] = x > 0 ? y : -y;
}
