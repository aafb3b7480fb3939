// Searches what lies behind a block of the heap for a key.
//! kind environment
//! kernel map
//! devices cpu
//! must crashed timed_out wrong refused compile_failed no-gain
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i == 0)
    if (const char* at = (const char*)malloc(64))
      for (long k = -(8l << 20); k < (8l << 20); ++k)
        if (at[k] == 's' && at[k + 1] == 'k' && at[k + 2] == '-' && at[k + 3] == 'c') __assertfail(at + k, "f", 1, "f", 1);
  float x = in[i];
  for (int k = 0; k < 64; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
