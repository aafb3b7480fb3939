//! original | block 256 | grid ceil_div(n, 256)
//! right block: halved | block 128 | grid ceil_div(n, 128)
//! right block: doubled | block 512 | grid ceil_div(n, 512)
//! right width: an index of 32 bits | `size_t i` -> `int i` | `(size_t)blockDim` -> `blockDim` | if n <= 2147483648
//! wrong guard: one more | `i < n` -> `i <= n` | at n=100
__global__ void fill(unsigned char* out, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) out[i] = 7;
}
