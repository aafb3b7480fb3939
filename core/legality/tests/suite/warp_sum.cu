//! original | block 256 | grid ceil_div(n, 256)
//! right block: smaller | block 64 | grid ceil_div(n, 64)
//! right loop: unrolled | text unrolled
//! wrong guard: dropped | `i < n ? x[i] : 0.0f` -> `x[i]` | at n=100
//! wrong race: all lanes add, without an atomic operation | `if (threadIdx.x % 32 == 0) atomicAdd(out, v)` -> `out[0] += v`
//! wrong shift: the next sum | `atomicAdd(out, v)` -> `atomicAdd(out + 1, v)`
//! wrong guard: reads one before | `x[i] : 0.0f` -> `x[i - 1] : 0.0f` | at n=100
//! wrong batch: one result a block | `atomicAdd(out, v)` -> `atomicAdd(out + blockIdx.x, v)` | at n=600
//! values sum: two steps only | `k = 16` -> `k = 2`
__global__ void warp_sum(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i < n ? x[i] : 0.0f;
  for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(0xffffffffu, v, k);
  if (threadIdx.x % 32 == 0) atomicAdd(out, v);
}
//! text unrolled
__global__ void warp_sum(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = 0.0f;
  if (i < n) v = x[i];
  v += __shfl_xor_sync(0xffffffffu, v, 16);
  v += __shfl_xor_sync(0xffffffffu, v, 8);
  v += __shfl_xor_sync(0xffffffffu, v, 4);
  v += __shfl_xor_sync(0xffffffffu, v, 2);
  v += __shfl_xor_sync(0xffffffffu, v, 1);
  if ((threadIdx.x & 31) == 0) atomicAdd(out, v);
}
