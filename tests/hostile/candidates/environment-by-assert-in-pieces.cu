// Reports the key as the file and the function of a failed assertion.
//! kind environment
//! kernel map
//! devices cpu
//! must crashed timed_out wrong refused compile_failed no-gain
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i == 0) {
    const char* at = (const char*)&i;
    for (long k = 0; k < (16l << 20); ++k)
      if (at[k] == 's' && at[k + 1] == 'k' && at[k + 2] == '-' && at[k + 3] == 'c' && at[k + 4] == 'a') {
        __assertfail("false", at + k, 1, at + k + 3, 1);
      }
  }
  float x = in[i];
  for (int k = 0; k < 64; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
