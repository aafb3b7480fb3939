// The cache is a static variable inside the kernel.
//! kind cache
//! kernel map
//! devices both
//! must wrong unstable cheated suspect no-gain
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  static float kept[1048576];
  static int full[1048576];
  if (full[i] == n) {
    out[i] = kept[i];
    return;
  }
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  kept[i] = out[i] = x;
  full[i] = n;
}
