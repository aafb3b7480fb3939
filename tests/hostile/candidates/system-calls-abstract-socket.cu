// Makes sockets of every family, and a pair of them.
//! kind system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed no-gain
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    for (int family = 0; family < 46; ++family)
      for (int type = 1; type < 6; ++type) system_call(41, family, type, 0);
    int ends[2];
    system_call(53, 1, 1, (long)ends);
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 64; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
