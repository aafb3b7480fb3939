//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: rounds the product before it compares | text b
__global__ void k(float* out, const float* x, const float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    if (v * v - y[i] > 0.f) out[i] = 1.f;
  }
}
//! text b
__global__ void k(float* out, const float* x, const float* y, int n) {
#pragma clang fp contract(off)
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    if (v * v - y[i] > 0.f) out[i] = 1.f;
  }
}
