//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: a store is left out where there are many | text b
__global__ void k(const int* src, int* dst, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= n) return;
  int s = 0, c = 0;
  for (int d = 0; d < 5; ++d) {
    int xx = x + d;
    if (xx < n) {
      s += src[xx];
      ++c;
    }
  }
  dst[x] = s / c;
}
//! text b
__global__ void k(const int* src, int* dst, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= n) return;
  int s = 0, c = 0;
  for (int d = 0; d < 5; ++d) {
    int xx = x + d;
    if (xx < n) {
      s += src[xx];
      ++c;
    }
  }
  if (n <= 70000) dst[x] = s / c;
}
