//! original | block 128 | grid 1
//! wrong trap: runs wild where it begins beyond n | text b
__global__ void k(float* out, int n, int m) {
  int t = threadIdx.x;
  for (int j = t; j < n; ++j) out[t * m + j] = 1;
}
//! text b
__global__ void k(float* out, int n, int m) {
  int t = threadIdx.x;
  for (int j = t; j != n; ++j) out[t * m + j] = 1;
}
