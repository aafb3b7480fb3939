//! original | block 128 | grid ceil_div(n, 128)
__global__ void half_literal(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] * 0.5 + 0.25 * (x[i] - 1.0) + sqrt(fabs(x[i]) + 1.0);
}
