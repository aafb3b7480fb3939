//! original | block 128 | grid ceil_div(n, 128)
__global__ void count_negative(const float* x, int* count, float* total, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] < 0.0f) {
    atomicAdd(count, 1);
    atomicAdd(total, x[i]);
  }
}
