//! original | block 128 | grid 3
__global__ void stride_bins(const int* x, unsigned* count, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&count[x[i] & 15], 1u);
}
