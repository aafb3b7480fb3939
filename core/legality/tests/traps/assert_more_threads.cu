//! original | block 64 | grid ceil_div(n, 64)
//! values trap: more threads, which the assertion stops | block 128 | grid ceil_div(n, 128)
__global__ void k(float* out, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= (n + 63) / 64 * 64) __trap();
  if (i < n) out[i] = x[i];
}
