//! original | block 1 | grid 3 | at n=67
__global__ void total_of_one(const float* x, float* out, float* top, float* scaled, int n) {
  float s = 0.0f, most = -1e30f;
  for (int i = 0; i < n; ++i) {
    s += x[blockIdx.x * n + i];
    most = fmaxf(most, x[blockIdx.x * n + i]);
  }
  out[blockIdx.x] = s;
  top[blockIdx.x] = most;
  for (int i = 0; i < n; ++i) scaled[blockIdx.x * n + i] = x[blockIdx.x * n + i] * 0.5f - s;
}
