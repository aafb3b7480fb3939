//! original | block 16, 16 | grid ceil_div(n, 16), ceil_div(m, 16) | at m=32,n=32,k=19
__global__ void product_in_memory(float *a, float *b, float *c, int m, int n, int k) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < m && j < n) {
    c[i * n + j] *= 2.0f;
    for (int p = 0; p < k; p++) {
      c[i * n + j] += a[i * k + p] * b[p * n + j];
    }
  }
}
