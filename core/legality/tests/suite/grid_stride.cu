//! original | block 256 | grid 120
//! right block: larger, fewer blocks | block 512 | grid 60
//! right block: another number of blocks | grid 17
//! right loop: one element of a thread | text single | grid ceil_div(n, 256)
//! right loop: while | text whiles
//! wrong loop: steps over | `i += blockDim.x * gridDim.x` -> `i += 2 * blockDim.x * gridDim.x` | at n=100000
//! wrong loop: steps by a block | `i += blockDim.x * gridDim.x` -> `i += blockDim.x` | at n=100000
//! wrong guard: one too many | `i < n` -> `i <= n`
//! wrong loop: one element of a thread, the grid stays | text single | at n=100000
//! wrong tail: starts behind the first block | `blockIdx.x * blockDim.x + threadIdx.x` -> `(blockIdx.x + 1) * blockDim.x + threadIdx.x`
//! wrong shift: reads one before | `x[i]` -> `x[i - 1]`
//! values cast: another factor | `2.0f` -> `3.0f`
__global__ void scale(const float* x, float* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) out[i] = 2.0f * x[i];
}
//! text single
__global__ void scale(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2.0f * x[i];
}
//! text whiles
__global__ void scale(const float* x, float* out, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  const int step = gridDim.x * blockDim.x;
  while (i < n) {
    out[i] = x[i] + x[i];
    i += step;
  }
}
