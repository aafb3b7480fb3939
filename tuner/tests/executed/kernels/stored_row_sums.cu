//! original | block 64 | grid ceil_div(m, 64) | at m=150, n=130
__global__ void stored_row_sums(const float* a, const float* x, float* y, int m, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  float s = 0;
  for (int j = 0; j < n; ++j) s += a[i * n + j] * x[j];
  y[i] = s > 0 ? s : 0.5f * s;
}
