// Unmaps and protects the pages around its buffers and its stack.
//! kind system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed cheated no-gain timed_out
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    long here = (long)out & ~4095l, stack = (long)&here & ~4095l;
    system_call(10, stack - 65536, 131072, 1);
    system_call(11, here + (4 << 20), 64 << 20, 0);
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
