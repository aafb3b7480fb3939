//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: an odd number of blocks has no clusters of two | text b
__global__ void k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 1.f;
}
//! text b
__global__ void __cluster_dims__(2, 1, 1) k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 1.f;
}
