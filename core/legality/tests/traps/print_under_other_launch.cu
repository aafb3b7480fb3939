//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: other threads print | block 256 | grid ceil_div(n, 256)
__global__ void k(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 7) printf("a block\n");
  if (i < n) out[i] = 2 * x[i];
}
