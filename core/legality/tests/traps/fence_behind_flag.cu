//! original | block 128 | grid blocks
//! wrong trap: the fence stands behind the flag | `__threadfence(); flag[blockIdx.x] = 1;` -> `flag[blockIdx.x] = 1;
//! __threadfence();` wrong trap: the fence stands before the data | `part[blockIdx.x] = x[blockIdx.x];
//! __threadfence();` -> `__threadfence(); part[blockIdx.x] = x[blockIdx.x];` wrong trap: a fence for the block alone |
//! `__threadfence();` -> `__threadfence_block();`
__global__ void k(const float* x, float* part, int* flag, int blocks) {
  if (threadIdx.x == 0) {
    part[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    flag[blockIdx.x] = 1;
  }
}
