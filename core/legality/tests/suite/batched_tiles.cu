//! original | block 32 | grid 1, 8
//! right block: larger, where it divides | block 64 | if n % 64 == 0
//! right loop: counted by elements | text elements | if n % 32 == 0
//! wrong block: reads the next batch | block 64 | `t < n / blockDim.x` -> `t < ceil_div_of(n)` | `__global__` -> `__device__ int ceil_div_of(int n) { return (n + 63) / 64; } __global__` | at n=96
//! wrong batch: the offset of the batch lost | `blockIdx.y * n + ` -> ``
//! wrong batch: the next batch | `blockIdx.y * n` -> `(blockIdx.y + 1) * n` | at n=32
//! wrong loop: one tile too many | `t < n / blockDim.x` -> `t <= n / blockDim.x` | at n=32
//! wrong tail: the rest is not written | block 64 | at n=96
//! wrong batch: half of the batches | grid 1, 4 | at n=32
//! values cast: another factor | `* 2.0f` -> `* 3.0f`
__global__ void scale_batches(const float* key, float* out, int n) {
  for (int t = 0; t < n / blockDim.x; ++t) {
    int i = blockIdx.y * n + t * blockDim.x + threadIdx.x;
    out[i] = key[i] * 2.0f;
  }
}
//! text elements
__global__ void scale_batches(const float* key, float* out, int n) {
  const float* mine = key + blockIdx.y * n;
  for (int j = threadIdx.x; j < n; j += blockDim.x) out[blockIdx.y * n + j] = mine[j] * 2.0f;
}
