//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: base + i in 32 bits | text b
__global__ void k(char* out, int base, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[(long long)base + i] = 1;
}
//! text b
__global__ void k(char* out, int base, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[base + i] = 1;
}
