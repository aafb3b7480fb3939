//! original | block 128 | grid ceil_div(n, 128)
__global__ void binned(const int* x, float* sum, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(&count[x[i]], 1);
  atomicAdd(&sum[x[i]], 0.5f);
}
