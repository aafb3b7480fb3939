//! original | block 128 | grid g
//! right guard: spelled otherwise | `i < n` -> `!(i >= n)`
//! wrong grid: twice as many blocks, two of which meet | grid 2 * g | at n=4096, g=8
//! wrong loop: one element of a thread, of which many meet | text single | grid ceil_div(n, 128) | at n=4096, g=8
__global__ void wrap(const float* x, float* out, int n, int g) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i % 1024] = x[i];
}
//! text single
__global__ void wrap(const float* x, float* out, int n, int g) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i % 1024] = x[i];
}
