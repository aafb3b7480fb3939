// Declares that it needs no register.
//! kind launch-attributes
//! kernel map
//! devices both
//! must over_resources launch_failed no-gain refused compile_failed
__global__ void __attribute__((maxnreg(1))) map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
