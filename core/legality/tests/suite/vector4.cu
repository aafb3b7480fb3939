//! original | block 128 | grid ceil_div(n, 128)
//! right block: larger | block 256 | grid ceil_div(n, 256)
//! right vector: as four numbers | text scalars
//! right vector: one number of a thread | text ones | grid ceil_div(4 * n, 128)
//! wrong guard: dropped | `if (i < n) ` -> `` | at n=100
//! wrong guard: counts numbers | `i < n` -> `i < 4 * n` | at n=100
//! wrong vector: not at a multiple of its width | `a[i]` -> `*reinterpret_cast<const float4*>(reinterpret_cast<const float*>(a) + 4 * i + 1)` | at n=100
//! wrong vector: overlapping ones | `b[i] =` -> `*reinterpret_cast<float4*>(reinterpret_cast<float*>(b) + i) =` | at n=100
//! wrong shift: the next one | `a[i]` -> `a[i + 1]`
//! wrong tail: as single numbers, a quarter of the grid | text ones | at n=100
//! values cast: one part lost | `a[i]` -> `make_float4(a[i].x, a[i].y, a[i].z, 0.0f)`
__global__ void copy4(const float4* a, float4* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i];
}
//! text scalars
__global__ void copy4(const float4* a, float4* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    b[i].x = a[i].x;
    b[i].y = a[i].y;
    b[i].z = a[i].z;
    b[i].w = a[i].w;
  }
}
//! text ones
__global__ void copy4(const float4* a, float4* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 4 * n) reinterpret_cast<float*>(b)[i] = reinterpret_cast<const float*>(a)[i];
}
