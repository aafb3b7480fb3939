//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: sum in another order decides | text b
__global__ void k(float* out, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    if ((v + 1e8f) - 1e8f > 0.f) out[i] = 1.f;
  }
}
//! text b
__global__ void k(float* out, const float* x, int n) {
#pragma clang fp reassociate(on)
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    if ((v + 1e8f) - 1e8f > 0.f) out[i] = 1.f;
  }
}
