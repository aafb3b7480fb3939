//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: syncwarp that half a warp does not reach | text b
__global__ void k(float* out, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __syncwarp();
  if (i < n) out[i] = x[i];
  __syncthreads();
}
//! text b
__global__ void k(float* out, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    __syncwarp();
    out[i] = x[i];
  }
  __syncthreads();
}
