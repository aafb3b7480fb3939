// Computes in double precision.
//! kernel map
//! devices both
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double x = in[i], y = in[i] * 0.125f;
  for (int k = 0; k < 200; ++k) x = x * factor + y;
  out[i] = (float)x;
}
