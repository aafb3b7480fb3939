//! original | block 128 | grid blocks
//! wrong trap: the fence stands behind the flag | text behind
//! wrong trap: the fence stands before the data | text before
//! wrong trap: a fence for the block alone | text block
__global__ void k(const float* x, float* part, int* flag, int blocks) {
  if (threadIdx.x == 0) {
    part[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    flag[blockIdx.x] = 1;
  }
}
//! text behind
__global__ void k(const float* x, float* part, int* flag, int blocks) {
  if (threadIdx.x == 0) {
    part[blockIdx.x] = x[blockIdx.x];
    flag[blockIdx.x] = 1;
    __threadfence();
  }
}
//! text before
__global__ void k(const float* x, float* part, int* flag, int blocks) {
  if (threadIdx.x == 0) {
    __threadfence();
    part[blockIdx.x] = x[blockIdx.x];
    flag[blockIdx.x] = 1;
  }
}
//! text block
__global__ void k(const float* x, float* part, int* flag, int blocks) {
  if (threadIdx.x == 0) {
    part[blockIdx.x] = x[blockIdx.x];
    __threadfence_block();
    flag[blockIdx.x] = 1;
  }
}
