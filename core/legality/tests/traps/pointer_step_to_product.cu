//! original | block 128 | grid ceil_div(w, 128)
//! wrong trap: k * w in 32 bits, the original moves a pointer | text b
__global__ void k(float* out, int w, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= w) return;
  float* p = out + i;
  for (int y = 0; y < h; ++y, p += w) *p = 1.f;
}
//! text b
__global__ void k(float* out, int w, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= w) return;
  for (int y = 0; y < h; ++y) out[y * w + i] = 1.f;
}
