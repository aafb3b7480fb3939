// The note holds control sequences for a terminal.
//! kind notes
//! kernel map
//! devices both
//! must no-gain
//! note \u001b[2J\u001b]0;@MARK@\u0007 @MARK@\r\n\b\u009b31m
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = in[i] * 0.125f + x * factor;
  out[i] = x + 0.0f * n;
}
