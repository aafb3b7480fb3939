//! original | block 128 | grid g
//! wrong trap: negative n is huge | text b
__global__ void k(float* out, int n, int g) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n) out[t] = 1.f;
}
//! text b
__global__ void k(float* out, int n, int g) {
  unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n) out[t] = 1.f;
}
