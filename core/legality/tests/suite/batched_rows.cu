//! original | block 128 | grid ceil_div(n, 128), batches
//! right block: larger | block 256 | grid ceil_div(n, 256), batches
//! right block: smaller | block 32 | grid ceil_div(n, 32), batches
//! right spelling: pointers to the batch | text pointers
//! wrong guard: dropped | `if (j >= n) return;` -> `` | at n=100, batches=3
//! wrong batch: the guard of all elements | `if (j >= n) return;` -> `if (blockIdx.y * n + j >= n * batches) return;` | at n=100, batches=3
//! wrong batch: one batch too many | grid ceil_div(n, 128), batches + 1 | at n=100, batches=3
//! wrong batch: a batch too few | grid ceil_div(n, 128), batches - 1 | at n=100, batches=3
//! wrong shift: another pitch | `out[blockIdx.y * n + j]` -> `out[blockIdx.y * (n + 1) + j]` | at n=100, batches=3
//! values sum: no bias | ` + bias[j]` -> ``
__global__ void add_bias(const float* x, const float* bias, float* out, int n, int batches) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= n) return;
  out[blockIdx.y * n + j] = x[blockIdx.y * n + j] + bias[j];
}
//! text pointers
__global__ void add_bias(const float* x, const float* bias, float* out, int n, int batches) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.y;
  x += b * n;
  out += b * n;
  if (j < n) out[j] = x[j] + bias[j];
}
