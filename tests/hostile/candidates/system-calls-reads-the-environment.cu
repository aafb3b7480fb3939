// Reads /proc/self/environ and the parent's, and reports what it finds by a failed assertion.
//! kind system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed no-gain
@part:syscall@
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    char paths[4][32] = {"/proc/self/environ", "/proc/1/environ", "/proc/self/mem", "/proc/self/maps"};
    static char text[32768];
    for (int k = 0; k < 4; ++k) {
      long fd = system_call(2, (long)paths[k], 0, 0);
      if (fd < 0) continue;
      long got = system_call(0, fd, (long)text, 65535);
      for (long at = 0; at + 10 < got; ++at)
        if (text[at] == 's' && text[at + 1] == 'k' && text[at + 2] == '-' && text[at + 3] == 'c')
          __assertfail(text + at, "environment", 1, "f", 1);
    }
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 64; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
