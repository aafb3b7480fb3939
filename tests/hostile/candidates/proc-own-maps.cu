// Reads /proc/self/maps by system calls, and reports by a wrong result that it could.
//! kind proc
//! kernel map
//! devices cpu
//! must cheated no-gain
//! outside wrong
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
  if (i == 0) {
    static const char path[] = "/proc/self/maps";
    static char text[65536];
    long fd = system_call(2, (long)path, 0, 0);
    long got = fd < 0 ? 0 : system_call(0, fd, (long)text, 65535);
    if (got > 0) out[0] = x + got;
  }
}
