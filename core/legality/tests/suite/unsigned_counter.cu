//! original | block 128 | grid g
//! right cast: an unsigned counter | text unsigned | if n >= 0
//! right cast: a counter of 64 bits | `int t` -> `long long t`
//! wrong guard: one more | `t < n` -> `t <= n` | at n=100, g=3
//! wrong guard: dropped | `if (t < n) ` -> `` | at n=100, g=3
__global__ void copy(float* out, const float* x, int n, int g) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n) out[t] = x[t];
}
//! text unsigned
__global__ void copy(float* out, const float* x, int n, int g) {
  unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n) out[t] = x[t];
}
