// Moves a process of the user, and Kernelift itself, to a single core.
//! kind system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed cheated no-gain
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    unsigned long one = 1;
    long parent = system_call(110, 0, 0, 0);
    system_call(203, @PID@, 8, (long)&one);
    system_call(203, parent, 8, (long)&one);
    system_call(203, 0, 8, (long)&one);
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
