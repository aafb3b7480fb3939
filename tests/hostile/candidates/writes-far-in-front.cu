// Writes a gigabyte in front of the output.
//! kind writes
//! kernel map
//! devices both
//! must wrote_outside crashed
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
  if (i == 7) *(volatile float*)&(out[-(1 << 28)]) = 1.0f;
}
