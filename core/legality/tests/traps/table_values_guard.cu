//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: another table decides | text b
//! wrong trap: static table | text c
__device__ const int table[4] = {1, 0, 1, 0};
__global__ void k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && table[i % 4] > 0) out[i] = 1.f;
}
//! text b
__device__ const int table[4] = {1, 0, 1, 1};
__global__ void k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && table[i % 4] > 0) out[i] = 1.f;
}
//! text c
static __device__ const int table[4] = {1, 0, 1, 1};
__global__ void k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && table[i % 4] > 0) out[i] = 1.f;
}
