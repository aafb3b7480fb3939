//! original | block 128 | grid ceil_div(n, 128), rows
//! right cast: the row in 64 bits | `(int)blockIdx.y * n` -> `(size_t)blockIdx.y * n`
//! right spelling: the row's pointer | text pointer
//! right block: larger | block 256 | grid ceil_div(n, 256), rows
//! wrong batch: a row further | `(int)blockIdx.y * n` -> `((int)blockIdx.y + 1) * n` | at n=100, rows=3
__global__ void scale(float* out, const float* x, int n, int rows) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < n) out[(int)blockIdx.y * n + j] = 2 * x[(int)blockIdx.y * n + j];
}
//! text pointer
__global__ void scale(float* out, const float* x, int n, int rows) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  float* row = out + (int)blockIdx.y * n;
  if (j < n) row[j] = 2 * x[(int)blockIdx.y * n + j];
}
