//! original | block 32, 8 | grid ceil_div(n, 32), ceil_div(m, 8) | at m=40,n=70
__global__ void cross(const float* a, float* b, int m, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < 1 || i >= m - 1) return;
  if (j == 0 || j > n - 2) return;
  b[i * n + j] = 0.2f * (a[i * n + j] + a[i * n + j - 1] + a[i * n + j + 1] + a[(i - 1) * n + j] + a[(i + 1) * n + j]);
}
