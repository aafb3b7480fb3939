//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: another table | text b
__constant__ int table[4] = {0, 1, 2, 3};
__global__ void k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i / 4 * 4 + table[i % 4]] = 1.f;
}
//! text b
__constant__ int table[4] = {0, 1, 2, 9};
__global__ void k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i / 4 * 4 + table[i % 4]] = 1.f;
}
