//! original | block 64 | grid ceil_div(rows, 64) | at rows=128,n=37
__global__ void row_scaled(const float* a, float* out, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float norm = 1.0f;
  for (int k = 0; k < n; ++k) norm += a[r * n + k] * a[r * n + k];
  for (int k = 0; k < n; ++k) out[r * n + k] = a[r * n + k] * norm;
}
