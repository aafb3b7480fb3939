//! original | block 64 | grid ceil_div(m, 64) | at m=128,n=45
__global__ void column_moments(const float* a, const float* shift, float2* out, float* low, int n, int m) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= m) return;
  float sum = 0, squares = 1;
  float centre = shift[j];
  for (int i = 0; i < n; ++i) sum += a[i * m + j] - centre;
  low[j] = centre;
  // The squares of the same.
  for (int i = 0; i < n; ++i) {
    float d = a[i * m + j] - centre;
    squares += d * d;
  }
  out[j] = make_float2(sum, squares);
}
