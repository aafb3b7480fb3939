// Reads a file of the user's by open, openat and readlink, and reports it by a failed assertion.
//! kind proc
//! kernel map
//! devices cpu
//! must refused compile_failed cheated no-gain
//! outside crashed
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    const char path[] = "@SECRET@";
    static char text[4096];
    for (long fd = system_call(2, (long)path, 0, 0), once = 0; once < 2; fd = system_call(257, -100, (long)path, 0), ++once)
      if (fd > 0 && system_call(0, fd, (long)text, 4000) > 0) __assertfail(text, "file", 1, "f", 1);
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
