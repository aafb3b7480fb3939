//! original | block 64 | grid 3 | at n=500
__global__ void strided_total(const float* x, float* total, int* positive, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    if (x[i] > 0) atomicAdd(&positive[1], 1);
    atomicAdd(total, x[i]);
  }
}
