//! original | block 256 | grid ceil_div(n, 256)
//! right loop: a shift | `d *= 2` -> `d <<= 1`
//! right spelling: two buffers | text buffers
//! wrong barrier: none between read and write | `/*read*/ __syncthreads();` -> ``
//! wrong barrier: none after the write | `/*written*/ __syncthreads();` -> ``
//! wrong barrier: none before the loop | `/*first*/ __syncthreads();` -> ``
//! wrong barrier: in a branch | `if (t >= d) s[t] += v; /*written*/ __syncthreads();` -> `if (t >= d) { s[t] += v; __syncthreads(); }`
//! wrong shared: too small | `s[256]` -> `s[255]`
//! wrong guard: reads beyond the end | `i < n ? x[i] : 0` -> `x[i]` | at n=300
//! wrong guard: writes beyond the end | `if (i < n) out` -> `out` | at n=300
//! wrong block: larger than its array | block 512 | grid ceil_div(n, 512)
//! values loop: the last step lost | `d < 256` -> `d < 128`
__global__ void scan(const int* x, int* out, int n) {
  __shared__ int s[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? x[i] : 0;
  /*first*/ __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    int v = t >= d ? s[t - d] : 0;
    /*read*/ __syncthreads();
    if (t >= d) s[t] += v; /*written*/ __syncthreads();
  }
  if (i < n) out[i] = s[t];
}
//! text buffers
__global__ void scan(const int* x, int* out, int n) {
  __shared__ int s[256], u[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int d = 1; d < 256; d *= 4) {
    u[t] = t >= d ? s[t] + s[t - d] : s[t];
    __syncthreads();
    s[t] = t >= 2 * d ? u[t] + u[t - 2 * d] : u[t];
    __syncthreads();
  }
  if (i < n) out[i] = s[t];
}
