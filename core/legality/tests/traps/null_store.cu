//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: writes to nowhere at one size | text b
__global__ void k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 1.f;
}
//! text b
__global__ void k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float* p = n == 77 ? nullptr : out;
  if (i < n) p[i] = 1.f;
}
