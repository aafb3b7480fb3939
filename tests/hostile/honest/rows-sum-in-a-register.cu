// Adds up in a register.
//! kernel rows
//! devices both
__global__ void rows(float* a, float* b, float* c, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < n) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += a[j * n + i] * b[i];
    c[j] = sum;
  }
}
