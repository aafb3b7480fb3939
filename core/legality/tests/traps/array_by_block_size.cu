//! original | block 64 | grid ceil_div(n, 64)
//! wrong trap: writes another array | block 128 | grid ceil_div(n, 128) | at n=100
__global__ void k(float* out, float* other, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float* p = blockDim.x > 64 ? other : out;
  if (i < n) p[i] = 1.f;
}
