//! original | block 16, 16 | grid ceil_div(n, 16), ceil_div(n, 16)
//! right block: wide | block 64, 4 | grid ceil_div(n, 64), ceil_div(n, 4)
//! right guard: spelled out | `if (j < i && i < n)` -> `if (i >= n) return; if (i > j)`
//! wrong guard: the diagonal too | `j < i` -> `j <= i` | at n=20
//! wrong guard: both triangles | `j < i && i < n` -> `j < n && i < n` | at n=20
//! wrong guard: no end | ` && i < n` -> `` | at n=20
//! wrong shift: transposed | `d[i * n + j]` -> `d[j * n + i]` | at n=20
//! values cast: not squared | `(x[i] - x[j]) * (x[i] - x[j])` -> `(x[i] - x[j])`
__global__ void distances(const float* x, float* d, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (j < i && i < n) d[i * n + j] = (x[i] - x[j]) * (x[i] - x[j]);
}
