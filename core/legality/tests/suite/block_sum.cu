//! original | block 256 | grid ceil_div(n, 256)
//! right loop: halving by a shift | `k /= 2` -> `k >>= 1`
//! right loop: as two loads of a thread | text pairs | block 128
//! right spelling: the sum in a register | text register
//! wrong block: half of the sums | block 512 | grid ceil_div(n, 512) | at n=600
//! wrong block: twice as many sums | block 128 | grid ceil_div(n, 128) | at n=600
//! wrong barrier: none in the loop | `__syncthreads(); /*loop*/` -> ``
//! wrong barrier: none before the loop | `/*before*/ __syncthreads();` -> ``
//! wrong barrier: only for threads that add | `if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k]; __syncthreads();` -> `if (threadIdx.x < k) { part[threadIdx.x] += part[threadIdx.x + k]; __syncthreads(); }`
//! wrong shared: too small | `part[256]` -> `part[128]`
//! wrong guard: dropped | `i < n ? x[i] : 0.0f` -> `x[i]` | at n=600
//! wrong loop: starts at the block | `k = blockDim.x / 2` -> `k = blockDim.x`
//! wrong race: all threads of the first warp write | `if (threadIdx.x == 0) out[blockIdx.x]` -> `if (threadIdx.x < 32) out[threadIdx.x]`
//! wrong batch: the sum of the next block | `out[blockIdx.x]` -> `out[blockIdx.x + 1]`
//! values sum: the last step lost | `k > 0` -> `k > 1`
__global__ void block_sum(const float* x, float* out, int n) {
  __shared__ float part[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : 0.0f;
  /*before*/ __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k /= 2) {
    if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k]; __syncthreads(); /*loop*/
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
//! text pairs
__global__ void block_sum(const float* x, float* out, int n) {
  __shared__ float part[128];
  int i = blockIdx.x * 256 + threadIdx.x;
  float s = 0.0f;
  if (i < n) s = x[i];
  if (i + 128 < n) s += x[i + 128];
  part[threadIdx.x] = s;
  __syncthreads();
  for (int k = 64; k > 0; k /= 2) {
    if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
//! text register
__global__ void block_sum(const float* x, float* out, int n) {
  __shared__ float part[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
  float s = i < n ? x[i] : 0.0f;
  part[t] = s;
  __syncthreads();
  for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) {
    if (t < k) part[t] = s = s + part[t + k];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s;
}
