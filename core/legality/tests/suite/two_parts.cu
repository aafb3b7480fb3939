//! original | block 128 | grid ceil_div(n, 128), 2
//! right block: larger | block 256 | grid ceil_div(n, 256), 2
//! right spelling: a conditional index | text index
//! wrong batch: one part only | grid ceil_div(n, 128), 1 | at n=100
//! wrong guard: dropped | `if (i >= n) return;` -> `` | at n=100
//! wrong shift: parts exchanged for the output | `out[i] = x[i]; else out[n + i] = y[i];` -> `out[n + i] = x[i]; else out[n + n + i] = y[i];` | at n=100
//! wrong race: both parts into one | `out[n + i] = y[i]` -> `out[i] = y[i]` | at n=100
//! values cast: doubled | `= x[i]` -> `= 2 * x[i]`
__global__ void join(const int* x, const int* y, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (blockIdx.y == 0) out[i] = x[i]; else out[n + i] = y[i];
}
//! text index
__global__ void join(const int* x, const int* y, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    if (blockIdx.y == 0) out[i] = x[i];
    if (blockIdx.y == 1) out[i + n] = y[i];
  }
}
