//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: no such block can be launched | text b
//! values trap: no such block can be launched | block 2048 | grid ceil_div(n, 2048)
__global__ void k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 1.f;
}
//! text b
__global__ void __launch_bounds__(64) k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 1.f;
}
