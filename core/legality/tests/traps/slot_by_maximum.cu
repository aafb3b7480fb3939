//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: atomics by another operation's result | text b
__global__ void k(int* out, int* count, const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int t = atomicAdd(count, 1);
    out[t] = x[i];
  }
}
//! text b
__global__ void k(int* out, int* count, const int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int t = atomicMax(count, 1);
    out[t] = x[i];
  }
}
