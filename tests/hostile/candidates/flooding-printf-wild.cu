// Prints a text at an address that it makes up.
//! kind flooding
//! kernel map
//! devices both
//! must crashed timed_out no-gain refused compile_failed
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
  if (i == 0) printf("%s @MARK@\n", (const char*)0x4141414141414141);
}
