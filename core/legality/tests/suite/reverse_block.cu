//! original | block 256 | grid ceil_div(n, 256)
//! right spelling: an unsigned index | `int t = threadIdx.x` -> `unsigned t = threadIdx.x`
//! right tile: a larger array than needed | `s[256]` -> `s[512]`
//! wrong barrier: none | `__syncthreads();` -> ``
//! wrong barrier: of the warp only | `__syncthreads();` -> `if (t < 32) __syncthreads();`
//! wrong shared: one element too few | `s[256]` -> `s[255]`
//! wrong shared: reads one beyond | `s[255 - t]` -> `s[256 - t]`
//! wrong alias: in place in memory | `out[i] = s[255 - t]` -> `out[i] = out[i - t + 255 - t]`
//! wrong guard: dropped before the store | `if (i < n) out` -> `out` | at n=300
//! values cast: negative | `= s[255 - t]` -> `= -s[255 - t]`
__global__ void reverse(const int* x, int* out, int n) {
  __shared__ int s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + threadIdx.x;
  s[t] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n) out[i] = s[255 - t];
}
