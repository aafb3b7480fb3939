//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: assumes whole blocks | text b
//! wrong trap: unreachable | text c
__global__ void k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 1.f;
}
//! text b
__global__ void k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __builtin_assume(n % 128 == 0);
  __builtin_assume(blockIdx.x * blockDim.x + blockDim.x <= n);
  if (i < n) out[i] = 1.f;
}
//! text c
__global__ void k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if ((int)(blockIdx.x * 128 + 128) > n) __builtin_unreachable();
  if (i < n) out[i] = 1.f;
}
