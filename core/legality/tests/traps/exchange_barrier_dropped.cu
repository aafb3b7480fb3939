//! original | block 128 | grid 1
//! wrong trap: order of two exchanges is left open | text b
__global__ void k(int* out, const int* x) {
  int t = threadIdx.x;
  atomicExch(&out[t], x[t]);
  __syncthreads();
  atomicExch(&out[127 - t], 5);
}
//! text b
__global__ void k(int* out, const int* x) {
  int t = threadIdx.x;
  atomicExch(&out[t], x[t]);
  atomicExch(&out[127 - t], 5);
}
