// Divides an integer by zero.
//! kind trapping
//! kernel map
//! devices both
//! must crashed timed_out wrong unstable cheated suspect no-gain
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  volatile int zero = 0;
  int q = i / zero;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = q == 12345 ? 0 : x;
}
