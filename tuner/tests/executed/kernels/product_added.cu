//! original | block 16, 16 | grid ceil_div(n, 16), ceil_div(m, 16) | at m=33,n=40,k=18
__global__ void product_added(float *c, const float *a, const float *b, int m, int n, int k) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < m && j < n)
    for (int p = 0; p < k; ++p) c[i * n + j] += a[i * k + p] * b[p * n + j];
}
