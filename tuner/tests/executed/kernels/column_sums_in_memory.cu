//! original | block 64 | grid ceil_div(m, 64) | at m=100, n=90
__global__ void column_sums_in_memory(const float* a, const float* r, float* s, int m, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < m) {
    s[j] = 0.0f;
    for (int i = 0; i < n; i++) {
      s[j] += r[i] * a[i * m + j];
    }
  }
}
