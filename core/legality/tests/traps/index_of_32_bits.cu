//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: 32 bits | text b
__global__ void k(float* out, size_t w, int n) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (size_t k = 0; k < w; ++k) out[i * w + k] = 1.f;
}
//! text b
__global__ void k(float* out, size_t w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int k = 0; k < (int)w; ++k) out[i * (int)w + k] = 1.f;
}
