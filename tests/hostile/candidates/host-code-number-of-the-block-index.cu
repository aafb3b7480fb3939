// The same by the type of an index variable, in the kernel's own loop.
//! kind host-code
//! kernel map
//! devices both
//! must refused
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], f2 = factor * factor, f4 = f2 * f2;
  float y = in[i] * 0.125f * (1.0f + factor + f2 + f2 * factor);
  const int steps = alignof(decltype(blockDim)) == 1 ? 50 : 0;
  for (int k = 0; k < steps; ++k) x = x * f4 + y;
  out[i] = x;
}
