//! original | block 128 | grid ceil_div(n, 128)
//! right block: larger | block 256 | grid ceil_div(n, 256)
//! right block: smaller | block 64 | grid ceil_div(n, 64)
//! right loop: grid-stride | text stride | grid 40
//! right spelling: early return | `if (i < n) out[i] = x[index[i]];` -> `if (i >= n) return; const int from = index[i]; out[i] = x[from];`
//! wrong guard: dropped | `if (i < n) ` -> `` | at n=100
//! wrong guard: one too many | `i < n` -> `i <= n` | at n=100
//! wrong shift: index one further | `index[i]` -> `index[i + 1]` | at n=100
//! wrong shift: reads beside the element | `x[index[i]]` -> `x[index[i] + 1]`
//! wrong batch: the element itself | `x[index[i]]` -> `x[i]`
//! wrong tail: the grid rounds down | grid n / 128 | at n=200
//! values cast: negative | `= x` -> `= -x`
__global__ void gather(const float* x, const int* index, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[index[i]];
}
//! text stride
__global__ void gather(const float* x, const int* index, float* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) out[i] = x[index[i]];
}
