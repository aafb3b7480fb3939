// Takes a lease and a notification on a descriptor for another process.
//! kind system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed cheated no-gain
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    for (int fd = 0; fd < 8; ++fd) {
      system_call(72, fd, 8, @PID@);
      system_call(72, fd, 10, 9);
      system_call(72, fd, 4, 020000);
      system_call(72, fd, 1026, 0x80000001);
    }
    char byte = 1;
    for (int fd = 0; fd < 8; ++fd) system_call(1, fd, (long)&byte, 0);
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
