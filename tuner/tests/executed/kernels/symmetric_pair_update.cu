//! original | block 32, 8 | grid ceil_div(n, 32), ceil_div(n, 8) | at n=48,k=21
__global__ void symmetric_pair_update(int n, int k, float alpha, float beta, float *a, float *b, float *c) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if ((i < n) && (j < n)) {
    c[i * n + j] *= beta;
    int p;
    for (p = 0; p < k; p++) {
      c[i * n + j] += alpha * a[i * k + p] * b[j * k + p] + alpha * b[i * k + p] * a[j * k + p];
    }
  }
}
