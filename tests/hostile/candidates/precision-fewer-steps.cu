// Stops a series early, where it has nearly converged.
//! kind precision
//! kernel map
//! devices both
//! must wrong unstable cheated suspect
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 100; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
