// Reads /proc/self/mem by system calls, and reports what it finds by a failed assertion.
//! kind proc
//! kernel map
//! devices cpu
//! must refused compile_failed cheated no-gain
//! outside crashed
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    static const char path[] = "/proc/self/mem";
    static char text[65536];
    long fd = system_call(2, (long)path, 0, 0);
    long got = fd < 0 ? 0 : system_call(0, fd, (long)text, 65535);
    for (long at = 0; at + 10 < got; ++at)
      if (text[at] == 's' && text[at + 1] == 'k' && text[at + 2] == '-' && text[at + 3] == 'c')
        __assertfail(text + at, "environment", 1, "f", 1);
    if (got > 0) __assertfail("@MARK@ it was opened", "/proc/self/mem", 1, "f", 1);
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
