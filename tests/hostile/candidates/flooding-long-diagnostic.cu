// Fails to compile with an expression of a megabyte in the message.
//! kind flooding
//! kernel map
//! devices both
//! must refused compile_failed
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  static_assert(sizeof("@LONG@") == 1, "@LONG@");
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
