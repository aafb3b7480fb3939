// Writes the last element one byte too far.
//! kind writes
//! kernel map
//! devices both
//! must wrong unstable cheated suspect crashed wrote_outside
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
  if (i == n - 1) *(volatile float*)((char*)out + 4 * (size_t)i + 1) = x;
}
