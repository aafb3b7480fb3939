// Makes its own code writable, maps memory that is both, and makes a file of memory to execute.
//! kind system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed no-gain
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    long page = (long)&marker & ~4095l;
    long failed = system_call(10, page, 4096, 7);
    long fresh = system_call(9, 0, 4096, 7);
    char name[] = "x";
    long fd = system_call(319, (long)name, 0, 0);
    const unsigned char code[] = {0xc3};
    system_call(1, fd, (long)code, 1);
    char path[] = "/proc/self/fd/0";
    path[14] = '0' + fd % 10;
    system_call(59, (long)path, 0, 0);
    if (failed == 0) out[0] = -12345.0f;
    if (fresh > 0 && fresh < 0x7fffffffffff) out[1] = -12345.0f;
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 64; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
