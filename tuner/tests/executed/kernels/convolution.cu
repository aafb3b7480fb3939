//! original | block 64 | grid ceil_div(n, 64) | at n=128,radius=3
__global__ void convolution(const float* x, const float* weight, float* out, int n, int radius) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0.0f;
  for (int k = -radius; k <= radius; ++k) {
    int j = i + k;
    if (j >= 0 && j < n) s += x[j] * weight[k + radius];
  }
  out[i] = s;
}
