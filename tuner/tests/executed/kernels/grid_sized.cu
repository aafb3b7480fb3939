//! original | block 64 | grid ceil_div(n, 64)
__global__ void grid_sized(const float* x, float* out, int* blocks, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) blocks[0] = gridDim.x;
  if (i < n) out[i] = x[i];
}
