// Opens the terminal by its name and writes to it.
//! kind terminal-by-system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed cheated no-gain
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    static char name[] = "/dev/tty", text[] = "@MARK@\n";
    long fd = system_call(2, (long)name, 1, 0);
    system_call(1, fd, (long)text, sizeof text);
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
