//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: redux under a divergent branch | text b
__global__ void k(int* out, const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int s = __reduce_add_sync(0xffffffffu, i < n ? x[i] : 0);
  if (i < n) out[i] = s;
}
//! text b
__global__ void k(int* out, const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int s = __reduce_add_sync(0xffffffffu, x[i]);
    out[i] = s;
  }
}
