// Fails an assertion whose expression is text for a terminal.
//! kind terminal
//! kernel map
//! devices both
//! must crashed refused compile_failed
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  assert(i != 7 && "\033[2J @MARK@");
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
