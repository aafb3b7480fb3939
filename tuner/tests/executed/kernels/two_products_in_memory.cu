//! original | block 64 | grid ceil_div(n, 64) | at n=100
__global__ void two_products_in_memory(int n, float alpha, float beta, float* a, float* b, float* tmp, float* x,
                                       float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int j;
    for (j = 0; j < n; j++) {
      tmp[i] += a[i * n + j] * x[j];
      y[i] += b[i * n + j] * x[j];
    }
    y[i] = alpha * tmp[i] + beta * y[i];
  }
}
