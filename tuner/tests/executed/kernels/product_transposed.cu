//! original | block 32, 8 | grid ceil_div(n, 32), ceil_div(m, 8) | at m=48,n=64,k=20
__global__ void product_transposed(const float *a, const float *b, float *c, int m, int n, int k) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < m && j < n) {
    c[i * n + j] = 0;
    for (int p = 0; p < k; ++p) c[i * n + j] += a[p * m + i] * b[j * k + p];
  }
}
