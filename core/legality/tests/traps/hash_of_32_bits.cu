//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: 64 bits | text b
__global__ void k(int* out, int n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&out[(i * 40503u) >> 22], 1);
}
//! text b
__global__ void k(int* out, int n) {
  unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&out[(i * 40503ull) >> 22], 1);
}
