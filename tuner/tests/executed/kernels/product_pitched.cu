//! original | block 16, 16 | grid ceil_div(n, 16), ceil_div(m, 16) | at m=40,n=48,k=18
__global__ void product_pitched(const double *a, const double *b, double *c, int m, int n, int k) {
  const int pitch = k + 3, wide = n + 5;
  int tx = threadIdx.x, ty = threadIdx.y;
  int j = blockIdx.x * 16 + tx;
  int i = blockIdx.y * 16 + ty;
  if (i < m && j < n) {
    const double *row = a + i * pitch;
    double sum = 1.0;
    for (int p = 1; p <= k; ++p) sum -= row[p] * b[p * wide + j];
    c[i * wide + j] = sum;
  }
}
