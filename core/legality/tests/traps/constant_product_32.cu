//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: row of 4096 in 32 bits | text b
__global__ void k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int j = 0; j < 3000; ++j) out[(size_t)i * 3000 + j] = 1.f;
}
//! text b
__global__ void k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int j = 0; j < 3000; ++j) out[i * 3000 + j] = 1.f;
}
