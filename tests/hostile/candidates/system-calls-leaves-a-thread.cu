// Starts a thread that goes on when the kernel has ended.
//! kind system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed cheated no-gain timed_out
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    static long stack[4096];
    long flags = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000;
    if (system_call(56, flags, (long)(stack + 4000), 0) == 0) for (volatile int go = 1; go;) {}
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
