//! original | block 16, 16 | grid ceil_div(n, 16), ceil_div(m, 16) | at m=48,n=48,k=9
__global__ void product_inner(const int *a, const int *b, int *c, int m, int n, int k) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= 1 && i < m - 1 && j >= 2 && j < n) {
    int sum = 3;
    for (int p = 0; p < k; ++p) sum += (a[i * k + p] - 1) * b[p * n + j];
    c[i * n + j] = sum;
    if (sum > 100) c[i * n + j] = 100;
  }
}
