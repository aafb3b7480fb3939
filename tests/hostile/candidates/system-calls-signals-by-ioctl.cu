// The same by ioctl: FIOSETOWN and FIOASYNC.
//! kind system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed cheated no-gain
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    int ends[2], pid = @PID@, on = 1;
    system_call(293, (long)ends, 0, 0);
    system_call(16, ends[0], 0x8901, (long)&pid);
    system_call(16, ends[0], 0x5452, (long)&on);
    char byte = 1;
    system_call(1, ends[1], (long)&byte, 1);
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
