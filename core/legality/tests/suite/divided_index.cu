//! original | block 128 | grid ceil_div(n * m, 128)
//! right block: smaller | block 64 | grid ceil_div(n * m, 64)
//! right jam: two elements of a thread | text two | grid ceil_div(n * m, 256)
//! right stride: a fixed grid | text strided | grid 8
//! right loop: a row of a thread | text row | grid ceil_div(n, 128)
//! wrong guard: one too many | `i < n * m` -> `i <= n * m` | at n=7, m=20
//! wrong guard: lost | `if (i < n * m) ` -> `` | at n=7, m=20
//! wrong jam: half of the grid | text two | grid ceil_div(n * m, 512) | at n=40, m=40
//! wrong jam: the second may be outside | text two | grid ceil_div(n * m, 256) | at n=7, m=20 | `if (j < n * m)` -> `if (i < n * m)`
//! wrong jam: one twice | text two | grid ceil_div(n * m, 256) | at n=40, m=40 | `+ blockDim.x` -> ``
//! wrong index: rows of the other length | `(i % m) * n` -> `(i % m) * m` | at n=7, m=20
//! wrong index: rows and columns meet | `+ i / m` -> `+ i % m` | at n=7, m=20
//! values index: the other order | `(i % m) * n + i / m` -> `(i % n) * m + i / n`
__global__ void turned(const float* x, float* out, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n * m) out[(i % m) * n + i / m] = x[i];
}
//! text two
__global__ void turned(const float* x, float* out, int n, int m) {
  int i = blockIdx.x * blockDim.x * 2 + threadIdx.x;
  if (i < n * m) out[(i % m) * n + i / m] = x[i];
  int j = i + blockDim.x;
  if (j < n * m) out[(j % m) * n + j / m] = x[j];
}
//! text strided
__global__ void turned(const float* x, float* out, int n, int m) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n * m; i += gridDim.x * blockDim.x)
    out[(i % m) * n + i / m] = x[i];
}
//! text row
__global__ void turned(const float* x, float* out, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int j = 0; j < m; ++j) out[j * n + i] = x[i * m + j];
}
