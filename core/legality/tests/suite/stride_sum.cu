//! original | block 256 | grid 64
//! right loop: two elements a step | text twice
//! right spelling: while | text whiles
//! right loop: halving by a shift | `k /= 2` -> `k >>= 1`
//! wrong block: more sums than before | grid 128
//! wrong block: larger blocks than the array | block 512
//! wrong barrier: none in the loop | `    __syncthreads();` -> ``
//! wrong guard: the sums of all threads | `if (threadIdx.x == 0) ` -> ``
//! wrong loop: one too many | `i < n` -> `i <= n` | at n=5000
//! wrong loop: two elements a step, the second unguarded | text twice | `if (j < n) s` -> `s` | at n=5000
//! wrong shift: reads the one before | `s += x[i]` -> `s += x[i - 1]` | at n=5000
//! values sum: squared | `s += x[i]` -> `s += x[i] * x[i]`
__global__ void sum(const float* x, float* out, int n) {
  __shared__ float part[256];
  float s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) s += x[i];
  part[threadIdx.x] = s;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k /= 2) {
    if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
//! text twice
__global__ void sum(const float* x, float* out, int n) {
  __shared__ float part[256];
  float s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 2 * blockDim.x * gridDim.x) {
    s += x[i];
    int j = i + blockDim.x * gridDim.x;
    if (j < n) s += x[j];
  }
  part[threadIdx.x] = s;
  __syncthreads();
  for (int k = 128; k > 0; k /= 2) {
    if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
//! text whiles
__global__ void sum(const float* x, float* out, int n) {
  __shared__ float part[256];
  const int t = threadIdx.x, step = gridDim.x * blockDim.x;
  float s = 0;
  int i = blockIdx.x * blockDim.x + t;
  while (i < n) {
    s += x[i];
    i += step;
  }
  part[t] = s;
  __syncthreads();
  for (int k = 128; k > 0; k /= 2) {
    if (t < k) part[t] += part[t + k];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}
