//! original | block 128 | grid ceil_div(m, 128) | at m=256,n=37
__global__ void double_sum(const float* a, float* out, int m, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  double sum = 0.0, top = 1.0;
  for (int j = 0; j < n; ++j) {
    double value = a[i * n + j];
    sum += value * value;
    if (value > top) top = value;
  }
  out[i] = sum / top;
}
