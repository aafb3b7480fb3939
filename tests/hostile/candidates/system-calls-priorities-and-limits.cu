// Lowers the priority of a process of the user, and its limits by prlimit.
//! kind system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed cheated no-gain
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    unsigned long none[2] = {0, 0};
    system_call(141, 0, @PID@, 19);
    system_call(302, @PID@, 7, (long)none);
    system_call(144, @PID@, 3, (long)none);
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
