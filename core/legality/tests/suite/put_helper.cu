//! original | block 256 | grid ceil_div(n, 256)
//! right block: smaller | block 128 | grid ceil_div(n, 128)
//! right block: larger | block 512 | grid ceil_div(n, 512)
//! right spelling: without the helper | `put(out, i, v * v);` -> `out[i] = v * v;`
//! wrong guard: the helper's guard dropped | `if (i >= 0) out[i] = v` -> `out[i - 1] = v` | at n=100
//! wrong guard: dropped | `if (i < n) {` -> `{` | at n=100
//! wrong shift: puts beside | `put(out, i, v * v)` -> `put(out, i + 1, v * v)`
//! wrong batch: puts into the block's place | `put(out, i, v * v)` -> `put(out, threadIdx.x, v * v)` | at n=300
//! wrong block: half of the blocks | grid ceil_div(n, 512) | at n=300
//! values cast: not squared | `v * v` -> `v`
__device__ void put(float* out, int i, float v) { if (i >= 0) out[i] = v; }
__global__ void squares(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    put(out, i, v * v);
  }
}
