//! original | block 128 | grid ceil_div(n, 128)
//! right block: larger | block 512 | grid ceil_div(n, 512)
//! right tile: with a halo in shared memory | text tiled
//! right loop: unrolled | text unrolled
//! wrong guard: the left end is not checked | `j >= 0 && ` -> `` | at n=100
//! wrong guard: the right end is not checked | ` && j < n` -> `` | at n=100
//! wrong loop: more weights than there are | `k <= 2` -> `k <= 3` | at n=100
//! wrong shared: no room for the halo | text tiled | `s[132]` -> `s[130]`
//! wrong barrier: none | text tiled | `__syncthreads();` -> ``
//! wrong guard: the tile reads beyond the end | text tiled | `j >= 0 && j < n ? x[j] : 0.0f` -> `j >= 0 ? x[j] : 0.0f` | at n=100
//! wrong barrier: threads beyond the end return before it | text tiled | `/*load*/` -> `if (i >= n) return;` | at n=100
//! wrong block: larger than its tile | text tiled | block 256 | grid ceil_div(n, 256)
//! values sum: a weight lost | `k = -2` -> `k = -1`
__constant__ float weights[5];
__global__ void convolve(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0;
  for (int k = -2; k <= 2; ++k) {
    int j = i + k;
    if (j >= 0 && j < n) s += weights[k + 2] * x[j];
  }
  out[i] = s;
}
//! text tiled
__constant__ float weights[5];
__global__ void convolve(const float* x, float* out, int n) {
  __shared__ float s[132];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  /*load*/
  for (int k = threadIdx.x; k < blockDim.x + 4; k += blockDim.x) {
    int j = blockIdx.x * blockDim.x + k - 2;
    s[k] = j >= 0 && j < n ? x[j] : 0.0f;
  }
  __syncthreads();
  if (i >= n) return;
  float sum = 0;
  for (int k = 0; k < 5; ++k) sum += weights[k] * s[threadIdx.x + k];
  out[i] = sum;
}
//! text unrolled
__constant__ float weights[5];
__global__ void convolve(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = weights[2] * x[i];
  if (i >= 2) s += weights[0] * x[i - 2];
  if (i >= 1) s += weights[1] * x[i - 1];
  if (i + 1 < n) s += weights[3] * x[i + 1];
  if (i + 2 < n) s += weights[4] * x[i + 2];
  out[i] = s;
}
