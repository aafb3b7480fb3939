//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: the original has the product where it is small | text b
__global__ void k(char* out, char* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[2LL * i] = 1;
  if (i < 100) y[2 * i] = 1;
}
//! text b
__global__ void k(char* out, char* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[2 * i] = 1;
  if (i < 100) y[2 * i] = 1;
}
