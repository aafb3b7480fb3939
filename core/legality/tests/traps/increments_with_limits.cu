//! original | block 128 | grid 1
//! wrong trap: increments with two limits, in any order | text b
__global__ void k(unsigned* out) {
  int t = threadIdx.x;
  atomicInc(&out[t], 5u);
  __syncthreads();
  atomicInc(&out[127 - t], 0u);
}
//! text b
__global__ void k(unsigned* out) {
  int t = threadIdx.x;
  atomicInc(&out[t], 5u);
  atomicInc(&out[127 - t], 0u);
}
