// Inline assembly in a statement expression in a default argument.
//! kind assembly
//! kernel map
//! devices both
//! must refused compile_failed
__device__ int hidden(int x = ({ asm(""); 1; })) { return x; }
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (hidden() != 1) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
