//! original | block 128 | grid ceil_div(n, 128), 7
//! wrong trap: row * w in 32 bits, by its variable | text b
__global__ void k(char* out, const char* x, size_t w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  size_t at = blockIdx.y * w + i;
  if (i < n) out[at] = x[at];
}
//! text b
__global__ void k(char* out, const char* x, size_t w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int at = blockIdx.y * w + i;
  if (i < n) out[at] = x[at];
}
