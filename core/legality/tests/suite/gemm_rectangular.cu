//! original | block 16, 16 | grid ceil_div(n, 16), ceil_div(m, 16)
//! right block: flat | block 64, 2 | grid ceil_div(n, 64), ceil_div(m, 2)
//! right loop: unrolled by two | text unrolled
//! wrong guard: no rows | `if (i >= m || j >= n) return;` -> `if (j >= n) return;` | at m=5, n=16, k=3
//! wrong guard: sides exchanged | `if (i >= m || j >= n) return;` -> `if (i >= n || j >= m) return;` | at m=16, n=32, k=3
//! wrong loop: one product too many | `p < k` -> `p <= k` | at m=16, n=16, k=3
//! wrong shift: b's pitch is m | `b[p * n + j]` -> `b[p * m + j]` | at m=17, n=16, k=3
//! wrong loop: unrolled, and the rest not checked | text unrolled | `p + 1 < k` -> `p < k` | at m=16, n=16, k=3
//! values sum: starts at the second | `p = 0` -> `p = 1`
__global__ void gemm(const double* a, const double* b, double* c, int m, int n, int k) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= m || j >= n) return;
  double s = 0;
  for (int p = 0; p < k; ++p) s += a[i * k + p] * b[p * n + j];
  c[i * n + j] += s;
}
//! text unrolled
__global__ void gemm(const double* a, const double* b, double* c, int m, int n, int k) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= m || j >= n) return;
  double s = 0, t = 0;
  int p = 0;
  for (; p + 1 < k; p += 2) {
    s += a[i * k + p] * b[p * n + j];
    t += a[i * k + p + 1] * b[(p + 1) * n + j];
  }
  for (; p < k; ++p) s += a[i * k + p] * b[p * n + j];
  c[i * n + j] += s + t;
}
