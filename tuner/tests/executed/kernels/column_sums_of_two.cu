//! original | block 64 | grid ceil_div(m, 64) | at m=128,n=37
__global__ void column_sums_of_two(const float* a, const float* b, const float* x, float* tmp, float* y, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < m) {
    for (int j = 0; j < n; j++) {
      tmp[i] += a[j * m + i] * x[j];
      y[i] += b[j * m + i] * x[j];
    }
    y[i] = 1.5f * tmp[i] + 0.5f * y[i];
  }
}
