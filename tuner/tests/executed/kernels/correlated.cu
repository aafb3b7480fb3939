//! original | block 64 | grid ceil_div(m - 1, 64) | at m=130,n=9
__global__ void correlated(const float* data, float* sums, int m, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int j, k;
  if (i < m - 1) {
    sums[i * m + i] = 1;
    for (j = i + 1; j < m; j++) {
      sums[i * m + j] = 0;
      for (k = 0; k < n; k++) {
        sums[i * m + j] += data[k * m + i] * data[k * m + j];
      }
      sums[j * m + i] = sums[i * m + j];
    }
  }
}
