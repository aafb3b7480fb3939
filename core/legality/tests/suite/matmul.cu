//! original | block 16, 16 | grid ceil_div(n, 16), ceil_div(n, 16)
//! right block: wide | block 32, 8 | grid ceil_div(n, 32), ceil_div(n, 8)
//! right tile: shared memory, zeros beyond the edge | text tiled
//! right loop: two columns of a thread | text columns | grid ceil_div(n, 32), ceil_div(n, 16)
//! wrong guard: the tile of a is read beyond the edge | text tiled | `r < n && t + threadIdx.x < n ? a[r * n + t + threadIdx.x] : 0.0f` -> `a[r * n + t + threadIdx.x]` | at n=20
//! wrong guard: only rows are checked when the tile is read | text tiled | `r < n && t + threadIdx.x < n` -> `r < n` | at n=20
//! wrong shared: the tile is too small | text tiled | `tb[16][16]` -> `tb[15][16]`
//! wrong shared: the tile's rows are too short | text tiled | `ta[16][16]` -> `ta[16][8]`
//! wrong barrier: none before the sum | text tiled | `/*first*/ __syncthreads();` -> ``
//! wrong barrier: none after the sum | text tiled | `/*second*/ __syncthreads();` -> `` | at n=20
//! wrong barrier: threads beyond the edge return before it | text tiled | `float s = 0;` -> `float s = 0; if (r >= n || q >= n) return;` | at n=20
//! wrong block: the tile's size stays | text tiled | block 32, 8 | grid ceil_div(n, 32), ceil_div(n, 8) | at n=40
//! wrong loop: one step too many | text tiled | `t < n; t += 16` -> `t <= n; t += 16` | `t + threadIdx.x < n ?` -> `t + threadIdx.x <= n ?` | at n=20
//! wrong guard: writes beyond the edge | text tiled | `if (r < n && q < n) c` -> `if (r < n) c` | at n=20
//! wrong loop: two columns, one guard | text columns | grid ceil_div(n, 32), ceil_div(n, 16) | ` && j + 16 < n` -> `` | at n=20
//! values sum: a tile lost | text tiled | `t < n; t += 16` -> `t + 16 < n; t += 16`
__global__ void mm(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && j < n) {
    float s = 0;
    for (int k = 0; k < n; ++k) s += a[i * n + k] * b[k * n + j];
    c[i * n + j] = s;
  }
}
//! text tiled
__global__ void mm(const float* a, const float* b, float* c, int n) {
  __shared__ float ta[16][16], tb[16][16];
  int r = blockIdx.y * 16 + threadIdx.y, q = blockIdx.x * 16 + threadIdx.x;
  float s = 0;
  for (int t = 0; t < n; t += 16) {
    ta[threadIdx.y][threadIdx.x] = r < n && t + threadIdx.x < n ? a[r * n + t + threadIdx.x] : 0.0f;
    tb[threadIdx.y][threadIdx.x] = q < n && t + threadIdx.y < n ? b[(t + threadIdx.y) * n + q] : 0.0f;
    /*first*/ __syncthreads();
    for (int k = 0; k < 16; ++k) s += ta[threadIdx.y][k] * tb[k][threadIdx.x];
    /*second*/ __syncthreads();
  }
  if (r < n && q < n) c[r * n + q] = s;
}
//! text columns
__global__ void mm(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 32 + threadIdx.x;
  float s = 0, u = 0;
  if (i < n && j < n) {
    for (int k = 0; k < n; ++k) s += a[i * n + k] * b[k * n + j];
    c[i * n + j] = s;
  }
  if (i < n && j + 16 < n) {
    for (int k = 0; k < n; ++k) u += a[i * n + k] * b[k * n + j + 16];
    c[i * n + j + 16] = u;
  }
}
