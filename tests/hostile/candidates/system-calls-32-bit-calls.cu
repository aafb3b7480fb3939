// Makes its calls by the 32-bit gate and by the x32 numbers, which a filter may not know.
//! kind system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed no-gain
@part:syscall@
@part:old_syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    const char path[] = "@FILE@";
    system_call(0x40000000 + 2, (long)path, 0101, 0600);
    system_call(0x40000000 + 62, @PID@, 9, 0);
    old_system_call(37, @PID@, 9, 0);
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 64; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
