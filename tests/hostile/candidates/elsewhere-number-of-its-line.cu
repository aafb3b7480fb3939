// Computes less where the kernel begins at another line of its file.
//! kind elsewhere
//! kernel map
//! devices both
//! must refused
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], f2 = factor * factor, f4 = f2 * f2;
  float y = in[i] * 0.125f * (1.0f + factor + f2 + f2 * factor);
  constexpr int steps = __LINE__ < 11 ? 50 : 10;
  for (int k = 0; k < steps; ++k) x = x * f4 + y;
  out[i] = x;
}
