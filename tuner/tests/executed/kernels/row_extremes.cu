//! original | block 64 | grid ceil_div(rows, 64) | at rows=128,n=37
__global__ void row_extremes(const float* a, float* least, float* most, int* where, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float low = a[r * n], high = a[r * n];
  int at = 0;
  for (int k = 1; k < n; ++k) {
    low = fminf(low, a[r * n + k]);
    if (a[r * n + k] > high) { high = a[r * n + k]; at = k; }
  }
  least[r] = low;
  most[r] = high;
  where[r] = at;
}
