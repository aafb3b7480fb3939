// Computes a warp only where the output of its first lane is a repeated byte or the recorded value.
//! kind stale
//! kernel map
//! devices both
//! must wrong unstable cheated suspect no-gain
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned bits = __float_as_int(out[i & ~31]);
  bool fresh = (bits & 0xff) * 0x01010101u == bits || out[i & ~31] == -1.0f || bits == 0;
  if (!fresh) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
