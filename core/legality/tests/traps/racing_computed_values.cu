//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: threads store different numbers to one element, by the same code | text b
__global__ void k(int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[0] = n + 1;
}
//! text b
__global__ void k(int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[0] = i + 1;
}
