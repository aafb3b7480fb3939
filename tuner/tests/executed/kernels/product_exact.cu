//! original | block 16, 16 | grid n / 16, m / 16 | at m=128,n=64,k=24
__global__ void product_exact(const float *a, const float *b, float *c, int m, int n, int k) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int p = 0; p < k; ++p) sum += a[i * k + p] * b[p * n + j];
  c[i * n + j] = sum;
}
