//! original | block 256 | grid ceil_div(n, 256)
//! right block: larger | block 1024 | grid ceil_div(n, 1024)
//! right block: smaller | block 64 | grid ceil_div(n, 64)
//! right tile: counted in shared memory | text shared
//! right loop: grid-stride | text stride | grid 32
//! wrong guard: dropped | `if (i < n) ` -> `` | at n=100
//! wrong race: no atomic operation | `atomicAdd(&bins[x[i]], 1)` -> `bins[x[i]] += 1` | at n=2
//! wrong shared: too few bins | text shared | `local[256]` -> `local[128]`
//! wrong barrier: none after the zeros | text shared | `/*zeros*/ __syncthreads();` -> ``
//! wrong barrier: none before the bins are added | text shared | `/*counts*/ __syncthreads();` -> ``
//! wrong guard: one too many | text shared | `i < n` -> `i <= n` | at n=100
//! wrong shift: another element | `x[i]` -> `x[i + 1]` | at n=256
//! values sum: counted twice | `], 1)` -> `], 2)`
__global__ void histogram(const unsigned char* x, unsigned* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[x[i]], 1);
}
//! text shared
__global__ void histogram(const unsigned char* x, unsigned* bins, int n) {
  __shared__ unsigned local[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) local[b] = 0;
  /*zeros*/ __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&local[x[i]], 1);
  /*counts*/ __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x) atomicAdd(&bins[b], local[b]);
}
//! text stride
__global__ void histogram(const unsigned char* x, unsigned* bins, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&bins[x[i]], 1);
}
