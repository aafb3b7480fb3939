//! original | block 64 | grid ceil_div(n, 64)
__global__ void upper_rows(const float* a, float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0;
    for (int j = i + 1; j < n; j++) s += a[i * n + j];
    x[i] = s;
  }
}
