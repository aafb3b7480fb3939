//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: sees the value of an earlier iteration | text b
__global__ void k(float* out, const int* idx, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int k = 0, v;
  while (true) {
    v = idx[k];
    ++k;
    if (k >= m) break;
  }
  if (v > 3) out[i] = 1.f;
}
//! text b
__global__ void k(float* out, const int* idx, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int k = 0, v, s = 0;
  while (true) {
    s += idx[k];
    ++k;
    if (k >= m) break;
  }
  k = 0;
  while (true) {
    v = idx[k];
    ++k;
    if (k >= 2) break;
  }
  if (v > 3) out[i] = s;
}
