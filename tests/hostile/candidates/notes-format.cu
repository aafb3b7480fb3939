// The note is a format.
//! kind notes
//! kernel map
//! devices both
//! must no-gain
//! note %s%s%s%s%n%n%n {} {0} %1$*2$d
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = in[i] * 0.125f + x * factor;
  out[i] = x + 0.0f * n;
}
