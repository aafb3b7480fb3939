//! original | block 16, 16 | grid ceil_div(n, 16), ceil_div(m, 16) | at m=48,n=40,k=19
__global__ void product_by_guards(const float *a, const float *b, float *c, int m, int n, int k, float alpha,
                                  float beta) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0.0f;
  for (int p = 0; p < k; ++p) sum += a[row * k + p] * b[p * n + column];
  c[row * n + column] = alpha * sum + beta * c[row * n + column];
}
