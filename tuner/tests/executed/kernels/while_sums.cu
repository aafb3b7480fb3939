//! original | block 64 | grid ceil_div(m, 64) | at m=100, n=90
__global__ void while_sums(const float* a, const float* x, float* y, int m, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  int j = 0;
  float s = 0;
  while (j < n) {
    s += a[i * n + j] * x[j];
    ++j;
  }
  y[i] = s;
}
