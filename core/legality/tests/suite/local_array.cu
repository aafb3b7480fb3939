//! original | block 128 | grid ceil_div(n, 128)
//! right block: smaller | block 64 | grid ceil_div(n, 64)
//! right loop: without the array | text plain
//! wrong shared: the thread's array is too short | `float v[5]` -> `float v[4]`
//! wrong loop: beyond the thread's array | `k < 5; ++k) v` -> `k < 6; ++k) v` | at n=100
//! wrong guard: dropped | `if (i >= n) return;` -> `` | at n=100
//! wrong shift: four numbers of an element | `x[5 * i + k]` -> `x[5 * i + k + 1]` | at n=100
//! values loop: not turned | `v[4 - k]` -> `v[k]`
__global__ void turn(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v[5];
  for (int k = 0; k < 5; ++k) v[k] = x[5 * i + k];
  for (int k = 0; k < 5; ++k) out[5 * i + k] = v[4 - k];
}
//! text plain
__global__ void turn(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int k = 0; k < 5; ++k) out[5 * i + k] = x[5 * i + 4 - k];
}
