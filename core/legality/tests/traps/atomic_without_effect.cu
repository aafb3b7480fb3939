//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: atomic without effect: compare and swap instead of add | text b
//! wrong trap: add to plain | text c
__global__ void k(int* out, const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&out[x[i] & 255], 1);
}
//! text b
__global__ void k(int* out, const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicCAS(&out[x[i] & 255], -7, 1);
}
//! text c
__global__ void k(int* out, const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[x[i] & 255] += 1;
}
