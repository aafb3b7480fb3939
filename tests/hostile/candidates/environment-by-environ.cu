// Finds what looks like an array of pointers to variables on its stack, and reports each by a failed assertion.
//! kind environment
//! kernel map
//! devices cpu
//! must crashed timed_out wrong refused compile_failed no-gain
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i == 0) {
    const char* const* at = (const char* const*)((unsigned long long)&i & ~7ull);
    for (long k = 0; k < (2l << 20); ++k) {
      unsigned long long value = (unsigned long long)at[k];
      if (value >> 40 != (unsigned long long)&i >> 40) continue;
      const char* text = at[k];
      if (text[0] == 'O' && text[1] == 'P' && text[2] == 'E' && text[3] == 'N') __assertfail(text, "f", 1, "f", 1);
    }
  }
  float x = in[i];
  for (int k = 0; k < 64; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
