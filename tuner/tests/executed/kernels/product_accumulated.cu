//! original | block 64 | grid ceil_div(m, 64) | at m=128,n=37
__global__ void product_accumulated(const float* a, const float* x, float* y, float* low, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  float s = 0.0f, t = low[i];
  for (int k = 0; k < n; ++k) {
    s += a[k * m + i] * x[k];
    t -= a[k * m + i];
  }
  y[i] += 0.5f * s;
  low[i] = t;
}
