// Writes a line and a control sequence to descriptors 1 and 2.
//! kind system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed cheated no-gain
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    const char text[] = "@MARK@ \033[31mred\n";
    for (int fd = 0; fd < 3; ++fd) system_call(1, fd, (long)text, sizeof text);
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
