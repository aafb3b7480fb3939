//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: 16-bit sum | text b
__global__ void k(float* out, const short* x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[(short)(i + 30000) + 40000] = 1;
}
//! text b
__global__ void k(float* out, const short* x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[(short)i + 70000] = 1;
}
