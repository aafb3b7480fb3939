// Makes a process of the user the owner of a pipe's signals: F_SETOWN, F_SETSIG to SIGKILL, O_ASYNC, and writes to
// the pipe.
//! kind system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed cheated no-gain
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    int ends[2];
    system_call(293, (long)ends, 0, 0);
    system_call(72, ends[0], 8, @PID@);
    system_call(72, ends[0], 10, 9);
    system_call(72, ends[0], 4, 020000 | 04000);
    char byte = 1;
    system_call(1, ends[1], (long)&byte, 1);
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
