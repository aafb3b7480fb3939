//! original | block 64 | grid ceil_div(n, 64)
//! values trap: a - b becomes b - a | block 128 | grid ceil_div(n, 128)
__global__ void k(float* out, const float* x, const float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float a = x[i], b = y[i];
    out[i] = blockDim.x > 64 ? a - b : b - a;
  }
}
