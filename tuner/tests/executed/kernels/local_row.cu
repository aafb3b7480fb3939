//! original | block 32 | grid ceil_div(n, 32)
__global__ void local_row(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float held[8];
  for (int k = 0; k < 8; ++k) held[k] = i < n ? x[i * 8 + k] : 0.0f;
  for (int k = 1; k < 8; ++k) held[k] += held[k - 1];
  if (i < n)
    for (int k = 0; k < 8; ++k) out[i * 8 + k] = held[k];
}
