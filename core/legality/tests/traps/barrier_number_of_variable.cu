//! original | block 128 | grid 1
//! wrong trap: pairs of warps become single warps | text b
__global__ void k(float* out, const float* x) {
  __shared__ float tile[128];
  int t = threadIdx.x;
  tile[t] = x[t];
  __nvvm_bar_sync(blockIdx.x + 1);
  out[t] = tile[127 - t];
}
//! text b
__global__ void k(float* out, const float* x) {
  __shared__ float tile[128];
  int t = threadIdx.x;
  tile[t] = x[t];
  __nvvm_bar_sync(threadIdx.x / 32 + 1);
  out[t] = tile[127 - t];
}
