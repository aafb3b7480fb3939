// Knows the recorded input as a formula and never looks at it.
//! kind answers
//! kernel map
//! devices both
//! must wrong unstable cheated suspect no-gain
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float in_i = 0.5f * (i % 1000) - 100;
  float x = in_i;
  for (int k = 0; k < 200; ++k) x = x * factor + in_i * 0.125f;
  out[i] = x;
}
