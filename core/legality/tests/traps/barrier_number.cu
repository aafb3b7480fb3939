//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: warps wait at different barriers | text b
__global__ void k(float* out, const float* x, int n) {
  __shared__ float tile[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0.f;
  __syncthreads();
  if (i < n) out[i] = tile[127 - threadIdx.x];
}
//! text b
__global__ void k(float* out, const float* x, int n) {
  __shared__ float tile[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0.f;
  __nvvm_bar_sync(threadIdx.x / 32);
  if (i < n) out[i] = tile[127 - threadIdx.x];
}
