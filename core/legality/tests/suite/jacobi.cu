//! original | block 32, 8 | grid ceil_div(n, 32), ceil_div(n, 8)
//! right block: square | block 16, 16 | grid ceil_div(n, 16), ceil_div(n, 16)
//! right block: starts at one | text inner | grid ceil_div(n - 2, 32), ceil_div(n - 2, 8) | if n >= 3
//! right spelling: unsigned range | `i > 0 && i < n - 1 && j > 0 && j < n - 1` -> `(unsigned)(i - 1) < (unsigned)(n - 2) && (unsigned)(j - 1) < (unsigned)(n - 2)` | if n >= 2
//! right spelling: a return | text returns
//! wrong guard: the first row too | `i > 0 && ` -> `` | at n=20
//! wrong guard: the last row too | `i < n - 1` -> `i < n` | at n=20
//! wrong guard: the last column too | `j < n - 1` -> `j < n` | at n=20
//! wrong guard: a row lost | `i > 0` -> `i > 1` | at n=20
//! wrong shift: two rows below | `(i + 1) * n` -> `(i + 2) * n` | at n=20
//! wrong race: writes to its input | `b[i * n + j] =` -> `const_cast<float*>(a)[i * n + j] =` | at n=20
//! wrong batch: starts at one, guard of the whole | text inner | `i < n - 1 && j < n - 1` -> `i < n && j < n` | at n=20
//! values sum: a term lost | ` + a[i * n + j - 1]` -> ``
__global__ void jacobi(const float* a, float* b, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i > 0 && i < n - 1 && j > 0 && j < n - 1)
    b[i * n + j] = 0.25f * (a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j + 1] + a[i * n + j - 1]);
}
//! text inner
__global__ void jacobi(const float* a, float* b, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x + 1;
  int i = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (i < n - 1 && j < n - 1)
    b[i * n + j] = 0.25f * (a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j + 1] + a[i * n + j - 1]);
}
//! text returns
__global__ void jacobi(const float* a, float* b, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i == 0 || j == 0) return;
  if (i >= n - 1 || j >= n - 1) return;
  const float* p = a + i * n + j;
  b[i * n + j] = 0.25f * (p[-n] + p[n] + p[1] + p[-1]);
}
