//! original | block 1 | grid g
//! wrong trap: runs wild for a negative n | text b
__global__ void k(float* out, int n, int g) {
  int t = blockIdx.x;
  for (int j = 0; j < n - t; ++j) out[t + g * j] = 1;
}
//! text b
__global__ void k(float* out, int n, int g) {
  int t = blockIdx.x;
  int r = n - t;
  for (int j = 0; r != 0; ++j, --r) out[t + g * j] = 1;
}
