//! original | block 16, 16 | grid ceil_div(n, 16), ceil_div(m, 16) | at m=32,n=32,k=32
__global__ void tiled_product(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float ta[16][16];
  __shared__ float tb[16][16];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * 16 + ty;
  int column = blockIdx.x * 16 + tx;
  float sum = 0.0f;
  for (int t = 0; t < k; t += 16) {
    ta[ty][tx] = row < m && t + tx < k ? a[row * k + t + tx] : 0.0f;
    tb[ty][tx] = column < n && t + ty < k ? b[(t + ty) * n + column] : 0.0f;
    __syncthreads();
    for (int p = 0; p < 16; ++p) {
      sum += ta[ty][p] * tb[p][tx];
    }
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
