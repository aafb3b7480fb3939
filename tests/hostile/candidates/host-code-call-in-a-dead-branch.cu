// A constant whose initialiser calls a function of the host in a branch that no compiler should take.
//! kind host-code
//! kernel map
//! devices both
//! must refused
static const int hook = sizeof(long) == 8 ? 0 : system("touch @FILE@");
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], f2 = factor * factor, f4 = f2 * f2;
  float y = in[i] * 0.125f * (1.0f + factor + f2 + f2 * factor);
  int steps = 50;
  for (int k = 0; k < steps; ++k) x = x * f4 + y;
  out[i] = x;
}
