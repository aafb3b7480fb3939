//! original | block 64 | grid n / 64 + 1
__global__ void last_block_tail(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x == gridDim.x - 1) {
    if (threadIdx.x < n % 64) out[i] = x[i];
  } else {
    out[i] = x[i];
  }
}
