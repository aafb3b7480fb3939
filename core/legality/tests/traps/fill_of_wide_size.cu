//! original | block 256 | grid ceil_div(n, 256)
//! wrong trap: an index of 32 bits | `size_t i` -> `int i` | `(size_t)blockDim` -> `blockDim` | at n=2147484648
//! wrong trap: a product of 32 bits | `(size_t)blockDim` -> `blockDim` | at n=4294967300
//! wrong trap: the same, two for each thread | text two | grid ceil_div(n, 512) | at n=4294968000
__global__ void fill(unsigned char* out, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) out[i] = 7;
}
//! text two
__global__ void fill(unsigned char* out, size_t n) {
  size_t i = blockIdx.x * blockDim.x * 2 + threadIdx.x * 2;
  if (i < n) out[i] = 7;
  if (i + 1 < n) out[i + 1] = 7;
}
