//! original | block 64 | grid ceil_div(n, 64)
__global__ void early_returns(const float* x, const int* kind, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (kind[i] == 3) return;
  float v = x[i];
  if (kind[i] > 20) {
    out[i] = -v;
    return;
  }
  while (v < 4.0f) v += 1.0f;
  out[i] = v;
}
