//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: a sum without its low bits, in 32 bits | text b
__global__ void k(char* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[((long long)i + n) & ~31LL] = 1;
}
//! text b
__global__ void k(char* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[(i + n) & ~31] = 1;
}
