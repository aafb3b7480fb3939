//! original | block 128 | grid ceil_div(n, 128)
//! right block: smaller | block 64 | grid ceil_div(n, 64)
//! right vector: both at once | `out[2 * i] = x[i]; out[2 * i + 1] = x[i];` -> `reinterpret_cast<float2*>(out)[i] = make_float2(x[i], x[i]);`
//! right loop: one element of a thread | text single | grid ceil_div(2 * n, 128)
//! wrong tail: one element of a thread, half of the grid | text single | at n=100
//! wrong shift: overlapping | `out[2 * i + 1]` -> `out[i + 1]` | at n=100
//! wrong vector: not aligned | `out[2 * i] = x[i]; out[2 * i + 1] = x[i];` -> `*reinterpret_cast<float2*>(out + 2 * i + 1) = make_float2(x[i], x[i]);` | at n=100
//! wrong guard: counts outputs | `i < n` -> `i < 2 * n` | at n=100
//! values cast: zero in between | `out[2 * i + 1] = x[i]` -> `out[2 * i + 1] = 0`
__global__ void upsample(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { out[2 * i] = x[i]; out[2 * i + 1] = x[i]; }
}
//! text single
__global__ void upsample(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 2 * n) out[i] = x[i / 2];
}
