//! original | block 64 | grid ceil_div(m, 64) | at m=128,n=45
__global__ void column_extremes(const float* a, float* most, int* large, int n, int m) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < m) {
    float top = -1e30f;
    int count = 0;
#pragma unroll 4
    for (int i = 0; i < n; ++i) {
      float v = a[i * m + j];
      top = fmaxf(top, v);
      if (v > 1.0f) count += 1;
    }
    most[j] = top;
    large[j] = count;
  }
}
