//! original | block 256 | grid (n + 255) / 256
//! right block: larger | block 1024 | grid (n + 1023) / 1024
//! right block: smaller | block 64 | grid (n + 63) / 64
//! right loop: two elements of a thread | text two | grid (n + 511) / 512
//! right spelling: a local pointer | text pointer
//! wrong loop: two elements, the second without a guard | text two | grid (n + 511) / 512 | `if (j < n)` -> `if (i < n)` | at n=300
//! wrong block: half of the blocks | grid (n + 511) / 512 | at n=300
//! wrong guard: compares with the wrong side | `if (i >= n) return` -> `if (i > n) return` | at n=300
//! wrong race: all threads add to one element | `y[i] = a * x[i] + y[i]` -> `y[0] = a * x[i] + y[0]` | at n=2
//! wrong race: adds to the next element's sum | `+ y[i]` -> `+ y[i + 1]` | at n=300
//! wrong batch: starts one block late | `int i = blockIdx.x` -> `int i = (blockIdx.x + 1)`
//! values sum: the old value lost | `+ y[i]` -> ``
__global__ void saxpy(int n, float a, const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = a * x[i] + y[i];
}
//! text two
__global__ void saxpy(int n, float a, const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x * 2 + threadIdx.x;
  int j = i + blockDim.x;
  if (i < n) y[i] = a * x[i] + y[i];
  if (j < n) y[j] = a * x[j] + y[j];
}
//! text pointer
__global__ void saxpy(int n, float a, const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float* p = y + i;
  const float* q = x + i;
  *p = fmaf(a, *q, *p);
}
