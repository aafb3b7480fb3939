// Four sums side by side.
//! kernel rows
//! devices both
__global__ void rows(float* a, float* b, float* c, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= n) return;
  float sums[4] = {};
  for (int i = 0; i < n; i++) sums[i % 4] += a[j * n + i] * b[i];
  c[j] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
}
