//! original | block 128 | grid ceil_div(m, 128)
//! right block: smaller | block 64 | grid ceil_div(m, 64)
//! right tile: x in shared memory | text tiled
//! right spelling: the row's pointer | `s += a[i * n + j] * x[j];` -> `const float* row = a + i * n; s = fmaf(row[j], x[j], s);`
//! wrong guard: dropped | `if (i >= m) return;` -> `` | at m=100, n=10
//! wrong loop: one too many | `j < n` -> `j <= n` | at m=100, n=10
//! wrong barrier: rows beyond the end return before it | text tiled | `float s = 0;` -> `float s = 0; if (i >= m) return;` | at m=100, n=300
//! wrong shared: the tile is too small | text tiled | `part[128]` -> `part[100]` | at m=100, n=10
//! wrong barrier: none after the tile was used | text tiled | `/*used*/ __syncthreads();` -> `` | at m=100, n=300
//! wrong guard: the tile is not checked | text tiled | `t + threadIdx.x < n ? x[t + threadIdx.x] : 0.0f` -> `x[t + threadIdx.x]` | at m=100, n=10
//! values sum: x lost | ` * x[j]` -> ``
__global__ void gemv(const float* a, const float* x, float* y, int m, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  float s = 0;
  for (int j = 0; j < n; ++j) { s += a[i * n + j] * x[j]; }
  y[i] = s;
}
//! text tiled
__global__ void gemv(const float* a, const float* x, float* y, int m, int n) {
  __shared__ float part[128];
  int i = blockIdx.x * 128 + threadIdx.x;
  float s = 0;
  for (int t = 0; t < n; t += 128) {
    part[threadIdx.x] = t + threadIdx.x < n ? x[t + threadIdx.x] : 0.0f;
    __syncthreads();
    if (i < m)
      for (int j = t; j < min(t + 128, n); ++j) s += a[i * n + j] * part[j - t];
    /*used*/ __syncthreads();
  }
  if (i < m) y[i] = s;
}
