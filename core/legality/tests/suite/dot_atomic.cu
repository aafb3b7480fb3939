//! original | block 256 | grid ceil_div(n, 256)
//! right block: larger | block 512 | grid ceil_div(n, 512)
//! right block: smaller | block 64 | grid ceil_div(n, 64)
//! right loop: grid-stride | text stride | grid 32
//! right tile: one atomic operation a block | text shared
//! wrong race: adds without an atomic operation | `atomicAdd(result, x[i] * y[i])` -> `*result += x[i] * y[i]` | at n=2
//! wrong guard: dropped | `if (i < n) ` -> `` | at n=100
//! wrong guard: one too many | `i < n` -> `i <= n` | at n=100
//! wrong shift: adds to the next | `atomicAdd(result,` -> `atomicAdd(result + 1,`
//! values block: a quarter of the elements | grid ceil_div(n, 512) | block 128
//! wrong batch: a sum of each block | `atomicAdd(result,` -> `atomicAdd(result + blockIdx.x,` | at n=1000
//! wrong barrier: one atomic operation a block, none before it | text shared | `/*last*/ __syncthreads();` -> ``
//! wrong shared: one atomic operation a block, of a larger one | text shared | block 512 | grid ceil_div(n, 512)
//! values sum: y lost | ` * y[i]` -> ``
__global__ void dot(const float* x, const float* y, float* result, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(result, x[i] * y[i]);
}
//! text stride
__global__ void dot(const float* x, const float* y, float* result, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (; i < n; i += gridDim.x * blockDim.x) atomicAdd(result, x[i] * y[i]);
}
//! text shared
__global__ void dot(const float* x, const float* y, float* result, int n) {
  __shared__ float part[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] * y[i] : 0.0f;
  /*last*/ __syncthreads();
  if (threadIdx.x == 0) {
    float s = 0;
    for (int k = 0; k < 256; ++k) s += part[k];
    atomicAdd(result, s);
  }
}
