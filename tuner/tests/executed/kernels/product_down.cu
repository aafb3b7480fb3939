//! original | block 128 | grid ceil_div(n, 128) | at n=256,m=33
__global__ void product_down(float *a, float *x, float *y, int n, int m) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < n) {
    y[j] = 0;
    int i;
    for (i = 0; i < m; i++) {
      y[j] += a[i * n + j] * x[i];
    }
  }
}
