//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: a float that is not set on one path | text b
__global__ void k(float* out, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 1.f;
}
//! text b
__global__ void k(float* out, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float j;
  if (m > 5) j = i;
  if (i < n) out[(int)j] = 1.f;
}
