//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: the first of the row decides, not the last | text b
__global__ void k(float* out, const float* x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int k = 0;
  float v, s = 0;
  do {
    v = x[k];
    s += v;
    ++k;
  } while (k < m);
  if (v > 3) out[i] = s;
}
//! text b
__global__ void k(float* out, const float* x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int k = 0;
  float v, s = 0, u = 0;
  do {
    v = x[k];
    u += v;
    ++k;
  } while (k < m / 2);
  k = 0;
  do {
    s += x[k];
    ++k;
  } while (k < m);
  if (v > 3) out[i] = s + u;
}
