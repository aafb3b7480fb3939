//! original | block 16, 8 | grid ceil_div(n, 16), ceil_div(m, 8)
//! right jam: two rows | text rows | grid ceil_div(n, 16), ceil_div(m, 16)
//! right jam: two rows, the grid stays | text rows
//! right jam: two rows, two columns | text square | grid ceil_div(n, 32), ceil_div(m, 16)
//! right block: two rows, two columns, smaller | text square | block 8, 8 | grid ceil_div(n, 16), ceil_div(m, 16)
//! wrong jam: the second row may be outside | text rows | grid ceil_div(n, 16), ceil_div(m, 16) | at n=20, m=17 | `i[1] < m` -> `i[0] < m`
//! wrong jam: no rest | text rows | grid ceil_div(n, 16), ceil_div(m, 16) | at n=20, m=17 | `iteration < 2` -> `iteration < 0`
//! wrong jam: one row twice | text rows | grid ceil_div(n, 16), ceil_div(m, 16) | at n=20, m=17 | `* 2 + u` -> `* 2`
//! wrong jam: the rest overlaps | text rows | grid ceil_div(n, 16), ceil_div(m, 16) | at n=20, m=17 | `* 2 + iteration` -> `+ iteration`
//! wrong jam: columns for rows | text square | grid ceil_div(n, 32), ceil_div(m, 16) | at n=20, m=40 | `j[u] < n` -> `j[u] < m`
//! wrong block: smaller, the grid stays | text square | block 8, 8 | grid ceil_div(n, 32), ceil_div(m, 16) | at n=20, m=17
//! values jam: the first row's values in both | text rows | grid ceil_div(n, 16), ceil_div(m, 16) | `sum[u];` -> `sum[0];`
__global__ void rows(const float* a, const float* b, float* c, int m, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < m && j < n) {
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
    c[i * n + j] = sum;
  }
}
//! text rows
__global__ void rows(const float* a, const float* b, float* c, int m, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i[2];
  #pragma unroll
  for (int u = 0; u < 2; ++u) {
    i[u] = (blockIdx.y * blockDim.y + threadIdx.y) * 2 + u;
  }
  if (i[1] < m && j < n) {
    float sum[2];
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
      sum[u] = 0;
    }
    for (int k = 0; k < n; ++k) {
      #pragma unroll
      for (int u = 0; u < 2; ++u) {
        sum[u] += a[i[u] * n + k] * b[k * n + j];
      }
    }
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
      c[i[u] * n + j] = sum[u];
    }
  } else {
    #pragma unroll 1
    for (int iteration = 0; iteration < 2; ++iteration) {
      int i = (blockIdx.y * blockDim.y + threadIdx.y) * 2 + iteration;
      if (i < m && j < n) {
        float sum = 0;
        for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
        c[i * n + j] = sum;
      }
    }
  }
}
//! text square
__global__ void rows(const float* a, const float* b, float* c, int m, int n) {
  int j[2], i[2];
  for (int u = 0; u < 2; ++u) j[u] = (blockIdx.x * 2 + u) * blockDim.x + threadIdx.x;
  for (int v = 0; v < 2; ++v) i[v] = (blockIdx.y * blockDim.y + threadIdx.y) * 2 + v;
  float sum[2][2];
  for (int u = 0; u < 2; ++u)
    for (int v = 0; v < 2; ++v) sum[u][v] = 0;
  for (int k = 0; k < n; ++k) {
    for (int u = 0; u < 2; ++u) {
      for (int v = 0; v < 2; ++v) {
        if (i[v] < m && j[u] < n) sum[u][v] += a[i[v] * n + k] * b[k * n + j[u]];
      }
    }
  }
  for (int u = 0; u < 2; ++u)
    for (int v = 0; v < 2; ++v)
      if (i[v] < m && j[u] < n) c[i[v] * n + j[u]] = sum[u][v];
}
