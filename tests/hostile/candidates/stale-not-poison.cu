// Computes only where the output looks like poison or like the value that was there before the first launch.
//! kind stale
//! kernel map
//! devices both
//! must wrong unstable cheated suspect no-gain
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned bits = __float_as_int(out[i]);
  if ((bits & 0xffff) != (bits >> 16) && out[i] != -1.0f) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
