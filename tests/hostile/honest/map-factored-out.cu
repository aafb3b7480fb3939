// The closed form of two steps at a time, rounded otherwise.
//! kernel map
//! devices both
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float y = in[i] * 0.125f, x = in[i], f2 = factor * factor, y2 = y * factor + y;
  for (int k = 0; k < 200; k += 2) x = x * f2 + y2;
  out[i] = x;
}
