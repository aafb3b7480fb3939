// All blocks are right, and the last one never ends: its work is left running.
//! kind spinning
//! kernel map
//! devices both
//! must crashed timed_out
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
  const volatile float* go = in;  // Global memory: a volatile local may be optimised away on a GPU.
  while (i == n - 1 && *go == *go) {}
}
