//! original | block 16, 16 | grid ceil_div(n, 16), ceil_div(n, 16) | at n=32,d=5
__global__ void pairs_of_rows(const float* x, float* out, int n, int d) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < n && j <= i) {
    float s = 0.0f;
    for (int k = 0; k < d; ++k) {
      float t = x[i * d + k] - x[j * d + k];
      s += t * t;
    }
    out[i * n + j] = s;
    out[j * n + i] = s;
  }
}
