//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: an element that is not set on one path | text b
__global__ void k(float* out, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 1.f;
}
//! text b
__global__ void k(float* out, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int j[1];
  if (m > 5) j[0] = i;
  if (i < n) out[j[0]] = 1.f;
}
