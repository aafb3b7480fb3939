//! original | block 64 | grid ceil_div(rows, 64) | at rows=128,n=21
__global__ void row_sums_break(const float* a, float* out, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0;
  for (int k = 0; k < n; ++k) {
    if (a[r * n + k] > 1.9f) break;
    if (a[r * n + k] < -1.9f) continue;
    s += a[r * n + k];
  }
  out[r] = s;
}
