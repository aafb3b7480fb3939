// Asserts with control sequences in the text.
//! kind terminal
//! kernel map
//! devices both
//! must crashed refused compile_failed
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i == 7) __assertfail("\033[2J\033]0;@MARK@\007 @MARK@\r\n\b", "\033[31m", 1, "\x9b", 1);
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
