// Maps and touches memory until there is none.
//! kind system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed cheated no-gain timed_out over_resources
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    for (int k = 0; k < 4096; ++k) {
      long at = system_call(12, 0, 0, 0);
      if (system_call(12, at + (16 << 20), 0, 0) != at + (16 << 20)) break;
      for (long p = at; p < at + (16 << 20); p += 4096) *(volatile char*)p = 1;
    }
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
