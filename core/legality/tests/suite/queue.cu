//! original | block 256 | grid ceil_div(n, 256) | unordered
//! right spelling: the index first | text index
//! right guard: spelled the other way | `i < n && x[i] > 0` -> `n > i && x[i] > 0`
//! wrong shared: the queue is too short | `queue[256]` -> `queue[128]`
//! wrong shared: a larger block | block 512 | grid ceil_div(n, 512)
//! wrong barrier: none after the zero | `/*zero*/ __syncthreads();` -> ``
//! wrong barrier: none before the queue is emptied | `/*filled*/ __syncthreads();` -> ``
//! wrong guard: dropped | `i < n && x[i] > 0` -> `x[i] > 0` | at n=100
//! wrong race: the count by an ordinary sum | `queue[atomicAdd(&filled, 1)]` -> `queue[filled++]`
//! values cast: zeros too | `x[i] > 0` -> `x[i] >= 0`
__global__ void compact(const int* x, int* out, int* count, int n) {
  __shared__ int filled;
  __shared__ int queue[256];
  if (threadIdx.x == 0) filled = 0;
  /*zero*/ __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0) queue[atomicAdd(&filled, 1)] = i;
  /*filled*/ __syncthreads();
  for (int j = threadIdx.x; j < filled; j += blockDim.x) out[atomicAdd(count, 1)] = queue[j];
}
//! text index
__global__ void compact(const int* x, int* out, int* count, int n) {
  __shared__ int filled;
  __shared__ int queue[256];
  if (threadIdx.x == 0) filled = 0;
  /*zero*/ __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0) {
    int at = atomicAdd(&filled, 1);
    queue[at] = i;
  }
  /*filled*/ __syncthreads();
  for (int j = threadIdx.x; j < filled; j += blockDim.x) {
    int to = atomicAdd(count, 1);
    out[to] = queue[j];
  }
}
