//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: reads past the array where there are many | text b
__global__ void k(const int* src, int* dst, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= n) return;
  int s = 0;
  for (int d = 0; d < 5; ++d) {
    int xx = x + d;
    if (xx < n) s += src[xx];
  }
  dst[x] = s;
}
//! text b
__global__ void k(const int* src, int* dst, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= n) return;
  int s = 0;
  for (int d = 0; d < 5; ++d) {
    int xx = x + d;
    if (xx < n) s += src[xx + (n > 70000 ? 1000000000 : 0)];
  }
  dst[x] = s;
}
