//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: the other one of two is not contracted | text b
__device__ float plain(float a, float b) {
#pragma clang fp contract(off)
  return a * a - b;
}
__global__ void k(float* out, float* other, const float* x, const float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i], w = y[i];
  other[i] = plain(w, v);
  if (v * v - w > 0.f) out[i] = 1.f;
}
//! text b
__device__ float plain(float a, float b) {
#pragma clang fp contract(off)
  return a * a - b;
}
__global__ void k(float* out, float* other, const float* x, const float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i], w = y[i];
  other[i] = w * w - v;
  if (plain(v, w) > 0.f) out[i] = 1.f;
}
