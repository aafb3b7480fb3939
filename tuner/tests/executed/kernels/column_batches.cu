//! original | block 64 | grid ceil_div(m, 64), batches | at m=128,n=21,batches=3
__global__ void column_batches(const double* a, double* out, int n, int m, int batches) {
  const double* own = a + blockIdx.y * n * m;
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  double sum = 0;
  if (j < m) {
    for (int i = 0; i < n; ++i)
      for (int k = i; k < n; k += 8) sum += own[k * m + j];
    out[blockIdx.y * m + j] = sum;
  }
}
