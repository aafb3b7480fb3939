// Takes a return address from its stack for the start of the program, whose variables lead to the environment.
//! kind environment
//! kernel map
//! devices cpu
//! must crashed timed_out wrong refused compile_failed no-gain cheated
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
@part:find_key@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  volatile int here = i;
  if (i == 0) {
    const volatile unsigned long long* at = (const volatile unsigned long long*)((unsigned long long)&here & ~7ull);
    for (int k = 0; k < 4096; ++k) {
      unsigned long long value = at[k];
      if (value >> 40 != 0x55 && value >> 40 != 0x56) continue;
      if (const char* key = find_key((const void*)value)) __assertfail(key, "f", 1, "f", 1);
    }
  }
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
