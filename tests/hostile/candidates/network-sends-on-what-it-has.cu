// Sends on every descriptor that it has, to the loopback interface and to abstract names.
//! kind network
//! kernel map
//! devices cpu
//! must refused compile_failed crashed cheated no-gain
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    static char text[] = "hello";
    for (int fd = 3; fd < 64; ++fd) system_call(44, fd, (long)text, 5);
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
