//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: shfl under a divergent branch | text b
__global__ void k(int* out, const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int s = __shfl_xor_sync(0xffffffffu, i < n ? x[i] : 0, 1);
  if (i < n) out[i] = s;
}
//! text b
__global__ void k(int* out, const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int s = __shfl_xor_sync(0xffffffffu, x[i], 1);
    out[i] = s;
  }
}
