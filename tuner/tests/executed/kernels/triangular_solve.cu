//! original | block 64 | grid ceil_div(n, 64)
__global__ void triangular_solve(const double* l, double* b, int n) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < n) {
    for (int i = 1; i < 4; ++i)
      for (int k = 0; k < i; ++k) b[i * n + c] -= l[i * 4 + k] * b[k * n + c];
  }
}
