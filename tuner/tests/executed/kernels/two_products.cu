//! original | block 64 | grid ceil_div(n, 64) | at n=100
__global__ void two_products(const float* a, const float* b, const float* x, float* tmp, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float t = tmp[i], s = y[i];
    for (int j = 0; j < n; j++) {
      t += a[i * n + j] * x[j];
      s += b[i * n + j] * x[j];
    }
    tmp[i] = t;
    y[i] = 2 * t + 3 * s;
  }
}
