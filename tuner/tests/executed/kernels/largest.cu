//! original | block 128 | grid ceil_div(n, 128)
__global__ void largest(const int* x, int* most, int* least, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicMax(most, x[i] * 3 - 40);
    atomicMin(&least[blockIdx.x], x[i]);
  }
}
