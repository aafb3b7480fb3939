// Sends signals to its parent and its group, and closes every descriptor.
//! kind system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed cheated no-gain
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    long parent = system_call(110, 0, 0, 0);
    system_call(62, parent, 9, 0);
    system_call(62, 0, 19, 0);
    system_call(72, 3, 4, 0);
    for (int fd = 0; fd < 64; ++fd) system_call(3, fd, 0, 0);
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
