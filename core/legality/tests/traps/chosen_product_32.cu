//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: a product in 32 bits where branches meet | text b
__global__ void k(char* out, const char* x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[m > 5 ? 2LL * i : 7];
}
//! text b
__global__ void k(char* out, const char* x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[m > 5 ? 2 * i : 7];
}
