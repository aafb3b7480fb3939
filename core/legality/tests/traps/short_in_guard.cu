//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: 8-bit counter in the guard | text b
__global__ void k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i + 200 < 300) out[i] = 1;
}
//! text b
__global__ void k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  short s = i + 200;
  if (i < n && s < 300) out[i] = 1;
}
