// Takes a return address from its stack for the start of the program, whose variables lead to the environment, and
// leaves the key in the output, so that it is in the wrong values of the verdict.
//! kind environment
//! kernel map
//! devices cpu
//! must crashed timed_out no-gain cheated
//! outside wrong
@part:find_key@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
  volatile int here = i;
  if (i == 0) {
    const volatile unsigned long long* at = (const volatile unsigned long long*)((unsigned long long)&here & ~7ull);
    for (int k = 0; k < 4096; ++k) {
      unsigned long long value = at[k];
      if (value >> 40 != 0x55 && value >> 40 != 0x56) continue;
      if (const char* key = find_key((const void*)value))
        for (int b = 0; b < 40; ++b) ((char*)out)[b] = key[b];
    }
  }
}
