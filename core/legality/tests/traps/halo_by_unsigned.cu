//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: negative dx leaves the array | text b
__global__ void k(float* out, int n, int dx) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if ((unsigned)(i + dx) < (unsigned)n) out[i + dx] = 1.f;
}
//! text b
__global__ void k(float* out, int n, int dx) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + dx < n) out[i + dx] = 1.f;
}
