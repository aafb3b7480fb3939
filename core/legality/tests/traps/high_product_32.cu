//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: a multiple of 65536 in 32 bits | text b
__global__ void k(char* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[(size_t)i * 65536] = 1;
}
//! text b
__global__ void k(char* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i * 65536] = 1;
}
