//! original | block 64 | grid ceil_div(n, 64)
//! values trap: more threads than its bounds | block 128 | grid ceil_div(n, 128)
__launch_bounds__(64) __global__ void k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 1.f;
}
