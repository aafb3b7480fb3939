// Prints a line in every thread.
//! kind flooding
//! kernel map
//! devices both
//! must no-gain timed_out crashed over_resources wrong refused compile_failed
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
  printf("@MARK@ %d %f\n", i, x);
}
