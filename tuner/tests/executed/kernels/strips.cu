//! original | block 64 | grid ceil_div(n, 64)
__global__ void strips(const int* a, int* b, int* last, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int row = 0; row < 24; row += 2) {
    int best = a[row * n + i];
    if (a[(row + 1) * n + i] > best) best = a[(row + 1) * n + i];
    b[row / 2 * n + i] = best;
  }
  last[i] = b[11 * n + i];
}
