//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: block scope atomics between blocks | text b
__global__ void k(int* out, const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&out[0], x[i]);
}
//! text b
__global__ void k(int* out, const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd_block(&out[0], x[i]);
}
