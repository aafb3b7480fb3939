//! original | block 128 | grid ceil_div(m, 128) | at m=256,n=41
__global__ void column_norm(const double* a, const double* weight, double* out, int n, int m) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= m) return;
  // Each column has a weight.
  const double w = weight[j];
  double sum = 0.0, least = 1e-3;
  for (int i = 0; i < n; ++i) {
    const double value = a[(size_t)i * m + j];
    sum += w * value * value;
  }
  if (sum < least) {
    out[j] = least;
    return;
  }
  out[j] = sum / w;
}
