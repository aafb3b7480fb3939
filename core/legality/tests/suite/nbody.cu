//! original | block 128 | grid ceil_div(n, 128)
//! right tile: positions in shared memory | text tiled
//! right block: larger | block 256 | grid ceil_div(n, 256)
//! right block: smaller | block 64 | grid ceil_div(n, 64)
//! wrong barrier: none after the sum | text tiled | `/*used*/ __syncthreads();` -> `` | at n=300
//! wrong barrier: none after the load | text tiled | `/*loaded*/ __syncthreads();` -> ``
//! wrong guard: the tile is not checked | text tiled | `j < n ? x[j] : 0.0f` -> `x[j]` | at n=300
//! wrong shared: too small | text tiled | `s[128]` -> `s[64]`
//! wrong barrier: threads beyond the end return | text tiled | `float f = 0;` -> `float f = 0; if (i >= n) return;` | at n=300
//! wrong loop: one too many | `j < n` -> `j <= n` | at n=300
//! wrong race: pushes the other one, too | `f += x[j] - x[i];` -> `f += x[j] - x[i]; force[j] = f;` | at n=300
//! wrong block: larger than its tile | text tiled | block 256 | grid ceil_div(n, 256)
//! values sum: one side only | `x[j] - x[i]` -> `x[j]`
__global__ void forces(const float* x, float* force, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float f = 0;
  for (int j = 0; j < n; ++j) {
    f += x[j] - x[i];
  }
  force[i] = f;
}
//! text tiled
__global__ void forces(const float* x, float* force, int n) {
  __shared__ float s[128];
  int i = blockIdx.x * 128 + threadIdx.x;
  float f = 0;
  float mine = i < n ? x[i] : 0.0f;
  for (int t = 0; t < n; t += 128) {
    int j = t + threadIdx.x;
    s[threadIdx.x] = j < n ? x[j] : 0.0f;
    /*loaded*/ __syncthreads();
    for (int k = 0; k < 128 && t + k < n; ++k) f += s[k] - mine;
    /*used*/ __syncthreads();
  }
  if (i < n) force[i] = f;
}
