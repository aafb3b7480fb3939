//! original | block 64 | grid ceil_div(m, 64) | at m=128,n=29,first=3
__global__ void column_added(const float* a, const float* y, const float* z, float* x, int first, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  for (int j = first; j < n; j++) x[i] = x[i] + 1.25f * a[j * m + i] * y[j];
  if (z[i] > 0) x[i] += z[i];
}
