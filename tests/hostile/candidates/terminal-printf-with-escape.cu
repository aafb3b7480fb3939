// Prints control sequences.
//! kind terminal
//! kernel map
//! devices both
//! must no-gain crashed refused compile_failed
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
  if (i == 7) printf("\033]52;c;@MARK@\007\033[2J\n");
}
