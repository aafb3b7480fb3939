// Asserts with an expression of a megabyte.
//! kind flooding
//! kernel map
//! devices both
//! must crashed timed_out refused compile_failed
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 7) __assertfail("@LONG@", "file", 1, "function", 1);
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
