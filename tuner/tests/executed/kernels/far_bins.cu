//! original | block 128 | grid ceil_div(n, 128) | permuted x
__global__ void far_bins(const int* x, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&count[x[i]], 2);
}
