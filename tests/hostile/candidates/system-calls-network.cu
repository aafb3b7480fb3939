// Connects to a listener on the loopback interface.
//! kind system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed cheated no-gain
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    long fd = system_call(41, 2, 1, 0);
    unsigned short port = @PORT@;
    unsigned char address[16] = {2, 0, (unsigned char)(port >> 8), (unsigned char)port, 127, 0, 0, 1};
    system_call(42, fd, (long)address, 16);
    for (int k = 0; k < 200; ++k) system_call(42, k, (long)address, 16);
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
