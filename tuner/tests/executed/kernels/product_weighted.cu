//! original | block 16, 16 | grid ceil_div(n, 16), ceil_div(m, 16) | at m=48,n=48,k=23
__global__ void product_weighted(const float *a, const float *b, const float *scale, const float *weight,
                                 const float *bias, float *c, int m, int n, int k) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= m) return;
  if (j >= n) return;
  const float shift = bias[j];
  float sum = shift;
  for (int p = 0; p < k; ++p) {
    const float left = a[i * k + p] * scale[i];
    const float right = b[p * n + j];
    sum += left * right * weight[p] * (i + 1);
    sum -= shift;
  }
  c[i * n + j] = fmaxf(sum, 0.0f) + shift;
}
