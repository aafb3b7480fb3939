//! original | block 64 | grid ceil_div(n, 64)
//! values trap: add becomes max | block 128 | grid ceil_div(n, 128)
__global__ void k(int* out, const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    if (blockDim.x > 64) atomicMax(out, x[i]);
    else atomicAdd(out, x[i]);
  }
}
