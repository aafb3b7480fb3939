//! original | block 64 | grid ceil_div(n, 256)
//! right spelling: a guard in the loop | text guarded
//! right loop: grid-stride | text stride | grid ceil_div(n, 64)
//! wrong loop: one too many of a thread | `k < 4` -> `k < 5` | at n=100
//! wrong loop: one too few of a thread | `k < 4` -> `k < 3` | at n=100
//! wrong guard: dropped | `if (i < n) ` -> `` | at n=100
//! wrong shift: chunks overlap | `* 4 + k` -> `* 3 + k` | at n=100
//! values cast: squared | `= x[i]` -> `= x[i] * x[i]`
__global__ void chunks(const float* x, float* out, int n) {
  for (int k = 0; k < 4; ++k) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4 + k;
    if (i < n) out[i] = x[i];
  }
}
//! text guarded
__global__ void chunks(const float* x, float* out, int n) {
  int first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  int last = first + 4 < n ? first + 4 : n;
  for (int i = first; i < last; ++i) out[i] = x[i];
}
//! text stride
__global__ void chunks(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i];
}
