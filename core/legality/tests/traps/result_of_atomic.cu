//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: barrier that one thread reaches | text b
//! wrong trap: two results are never equal | text c
//! wrong trap: barrier by cas | text d
__global__ void k(int* out, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(count, 1);
  if (i < n) out[i] = 1;
}
//! text b
__global__ void k(int* out, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int t = atomicAdd(count, 1);
  if (t == 5) __syncthreads();
  if (i < n) out[i] = 1;
}
//! text c
__global__ void k(int* out, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int t = atomicAdd(count, 1);
  int u = atomicAdd(count, 1);
  if (t != u) out[i + n] = 2;
  if (i < n) out[i] = 1;
}
//! text d
__global__ void k(int* out, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (atomicCAS(count, 0, 1) == 0) __syncthreads();
  if (i < n) out[i] = 1;
}
