//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: a guard in 32 bits | text b
__global__ void k(char* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2LL * i + 1 < n) out[i] = 1;
}
//! text b
__global__ void k(char* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i + 1 < n) out[i] = 1;
}
