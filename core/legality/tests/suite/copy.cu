//! original | block 128 | grid ceil_div(n, 128)
//! right block: larger | block 256 | grid ceil_div(n, 256)
//! right block: smaller | block 32 | grid ceil_div(n, 32)
//! right loop: grid-stride, a fixed grid | text stride | grid 64
//! right vector: four at once | text vector | grid ceil_div(n, 512) | if n % 4 == 0
//! right vector: four at once, and the rest one by one | text vector_tail | grid ceil_div(n, 512)
//! right spelling: early return | text early
//! wrong guard: dropped | `if (i < n) ` -> `` | at n=100
//! wrong guard: one too many | `i < n` -> `i <= n` | at n=100
//! wrong guard: one too few | `i < n` -> `i < n - 1` | at n=128
//! wrong tail: the grid rounds down | grid n / 128 | at n=200
//! wrong block: the grid stays | block 64 | at n=100
//! wrong shift: reads the next element | `x[i]` -> `x[i + 1]`
//! wrong shift: writes the next element | `out[i]` -> `out[i + 1]`
//! wrong vector: the rest is forgotten | text vector | grid ceil_div(n, 512) | at n=129
//! values cast: half as much | `= x[i]` -> `= 0.5f * x[i]`
__global__ void copy(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i];
}
//! text stride
__global__ void copy(const float* x, float* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) out[i] = x[i];
}
//! text vector
__global__ void copy(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 4) reinterpret_cast<float4*>(out)[i] = reinterpret_cast<const float4*>(x)[i];
}
//! text vector_tail
__global__ void copy(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int base = i * 4;
  if (base + 3 < n) {
    reinterpret_cast<float4*>(out)[i] = reinterpret_cast<const float4*>(x)[i];
  } else {
    for (int j = base; j < n; ++j) out[j] = x[j];
  }
}
//! text early
__global__ void copy(const float* x, float* out, int n) {
  const int i = threadIdx.x + blockDim.x * blockIdx.x;
  if (i >= n) return;
  float v = x[i];
  out[i] = v;
}
