//! original | block 128 | grid ceil_div(n, 128)
//! right block: smaller | block 32 | grid ceil_div(n, 32)
//! right block: larger | block 512 | grid ceil_div(n, 512)
//! right loop: from the diagonal down | text down
//! wrong loop: to the row's end | `j <= i` -> `j < n` | at n=20
//! wrong loop: one too many | `j <= i` -> `j <= i + 1` | at n=20
//! wrong guard: dropped | `if (i >= n) return;` -> `` | at n=20
//! wrong shift: the row below | `a[i * n + j]` -> `a[(i + 1) * n + j]` | at n=20
//! wrong block: half of the rows | grid ceil_div(n, 256) | at n=200
//! values loop: without the diagonal | `j <= i` -> `j < i`
__global__ void row_sums(const double* a, double* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double s = 0;
  for (int j = 0; j <= i; ++j) s += a[i * n + j];
  x[i] = s;
}
//! text down
__global__ void row_sums(const double* a, double* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    double s = 0;
    for (int j = i; j >= 0; --j) s += a[i * n + j];
    x[i] = s;
  }
}
