// Prints the key.
//! kind environment
//! kernel map
//! devices cpu
//! must crashed timed_out wrong refused compile_failed no-gain
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i == 0) {
    const char* at = (const char*)&i;
    for (long k = 0; k < (16l << 20); ++k)
      if (at[k] == 's' && at[k + 1] == 'k' && at[k + 2] == '-' && at[k + 3] == 'c' && at[k + 4] == 'a') {
        printf("%s\n", at + k); break;
      }
  }
  float x = in[i];
  for (int k = 0; k < 64; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
