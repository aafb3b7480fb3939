//! original | block 64 | grid rows | at rows=5, n=300
__global__ void block_row_norm(const float* x, float* norm, int rows, int n) {
  __shared__ float part[64];
  int row = blockIdx.x;
  if (row >= rows) return;
  float s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float v = x[row * n + i];
    s += v * v;
  }
  part[threadIdx.x] = s;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) norm[row] = sqrtf(part[0]);
}
