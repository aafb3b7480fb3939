//! original | block 256 | grid rows
//! right loop: a shift | `k /= 2` -> `k >>= 1`
//! right spelling: a row's pointer | `x[blockIdx.x * cols + j]` -> `(x + blockIdx.x * cols)[j]`
//! wrong loop: the next row's first | `j < cols` -> `j <= cols` | at rows=3, cols=100
//! wrong batch: the first row | `blockIdx.x * cols + j` -> `j + cols` | at rows=1, cols=100
//! wrong barrier: none in the loop | `__syncthreads(); /*loop*/` -> ``
//! wrong shared: half | `part[256]` -> `part[128]`
//! wrong block: larger than the array | block 512
//! wrong batch: a row too many | grid rows + 1 | at rows=3, cols=100
//! wrong guard: all threads write | `if (threadIdx.x == 0) norm[blockIdx.x]` -> `norm[threadIdx.x]` | at rows=3, cols=100
//! values sum: not squared | ` * x[blockIdx.x * cols + j]` -> ``
__global__ void row_norm(const float* x, float* norm, int rows, int cols) {
  __shared__ float part[256];
  float s = 0;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) s += x[blockIdx.x * cols + j] * x[blockIdx.x * cols + j];
  part[threadIdx.x] = s;
  __syncthreads();
  for (int k = 128; k > 0; k /= 2) {
    if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
    __syncthreads(); /*loop*/
  }
  if (threadIdx.x == 0) norm[blockIdx.x] = sqrtf(part[0]);
}
