//! original | block 8, 8 | grid ceil_div(n, 8), ceil_div(m, 8) | at m=20, n=17, k=40
__global__ void stored_product(const float* a, const float* b, float* c, int m, int n, int k) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m && col < n) {
    float s = 0.0f;
    for (int t = 0; t < k; ++t) s += a[row * k + t] * b[t * n + col];
    c[row * n + col] = s;
  }
}
