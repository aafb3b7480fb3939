//! original | block 16, 16 | grid ceil_div(n, 16), ceil_div(n, 16), 3 | at n=40,k=17
__global__ void product_batched(const float *a, const float *b, float *c, int n, int k) {
  const int batch = blockIdx.z;
  const float *left = a + batch * n * k;
  const float *right = b + batch * k * n;
  float *out = c + batch * n * n;
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < n && j < n) {
    float sum = 0;
    for (int p = 0; p < k; ++p) sum += left[i * k + p] * right[p * n + j];
    out[i * n + j] = sum;
  }
}
