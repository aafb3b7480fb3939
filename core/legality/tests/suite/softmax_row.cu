//! original | block 128 | grid rows
//! right loop: the row's pointer | text pointer
//! right block: smaller, with its array | block 64 | `part[128]` -> `part[64]`
//! right block: larger, with its array | block 256 | `part[128]` -> `part[256]`
//! wrong block: larger than its array | block 256
//! wrong barrier: none before the sum is read | `/*sum*/ __syncthreads();` -> ``
//! wrong barrier: none between the maximum and the sum | `/*again*/ __syncthreads();` -> ``
//! wrong guard: one too many | `/*write*/ j < n` -> `j <= n` | at n=100, rows=3
//! wrong batch: the first row only | `blockIdx.x * n + j] = ` -> `j] = ` | at n=100, rows=3
//! wrong loop: elements left out | `/*write*/ j < n; j += blockDim.x` -> `j < n; j += 2 * blockDim.x` | at n=300, rows=3
//! wrong batch: a row too few | grid rows - 1 | at n=100, rows=3
//! values sum: the maximum is not subtracted | `- top` -> ``
__global__ void softmax(const float* x, float* out, int n, int rows) {
  __shared__ float part[128];
  const int t = threadIdx.x;
  float top = -1e30f;
  for (int j = t; j < n; j += blockDim.x) top = fmaxf(top, x[blockIdx.x * n + j]);
  part[t] = top;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k /= 2) {
    if (t < k) part[t] = fmaxf(part[t], part[t + k]);
    __syncthreads();
  }
  top = part[0];
  /*again*/ __syncthreads();
  float s = 0;
  for (int j = t; j < n; j += blockDim.x) s += expf(x[blockIdx.x * n + j] - top);
  part[t] = s;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k /= 2) {
    if (t < k) part[t] += part[t + k];
    /*sum*/ __syncthreads();
  }
  s = part[0];
  for (int j = t; /*write*/ j < n; j += blockDim.x) out[blockIdx.x * n + j] = expf(x[blockIdx.x * n + j] - top) / s;
}
//! text pointer
__global__ void softmax(const float* x, float* out, int n, int rows) {
  __shared__ float part[128];
  const int t = threadIdx.x;
  const float* row = x + blockIdx.x * n;
  float top = -1e30f;
  for (int j = t; j < n; j += 128) top = fmaxf(top, row[j]);
  part[t] = top;
  __syncthreads();
  for (int k = 64; k > 0; k /= 2) {
    if (t < k) part[t] = fmaxf(part[t], part[t + k]);
    __syncthreads();
  }
  top = part[0];
  __syncthreads();
  float s = 0;
  for (int j = t; j < n; j += 128) s += expf(row[j] - top);
  part[t] = s;
  __syncthreads();
  for (int k = 64; k > 0; k /= 2) {
    if (t < k) part[t] += part[t + k];
    __syncthreads();
  }
  float* to = out + blockIdx.x * n;
  for (int j = t; j < n; j += 128) to[j] = expf(row[j] - top) / part[0];
}
