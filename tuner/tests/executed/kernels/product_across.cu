//! original | block 16, 16 | grid ceil_div(m, 16), ceil_div(n, 16) | at m=48,n=48,k=33
__global__ void product_across(const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k) {
  unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m) {
    if (column < n) {
      float sum = c[row * n + column];
      for (unsigned p = 0; p < k; p++) {
        float left = a[row * k + p];
        float right = b[p * n + column];
        sum = fmaf(left, right, sum);
      }
      c[row * n + column] = sum;
    }
  }
}
