//! original | block 64 | grid 3 | at n=40
__global__ void column_centred(const float* a, float* mean, float* out, int n) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += a[i * 192 + j];
  mean[j] = sum * 0.03125f;
  for (int i = 0; i < n; ++i) {
    const float value = a[i * 192 + j];
    out[i * 192 + j] = value - mean[j];
  }
}
