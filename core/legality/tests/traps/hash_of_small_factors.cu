//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: 64 bits | text b
__global__ void k(int* out, const unsigned short* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned h = x[5 * i];
  h = h * 131 + x[5 * i + 1];
  h = h * 131 + x[5 * i + 2];
  h = h * 131 + x[5 * i + 3];
  h = h * 131 + x[5 * i + 4];
  atomicAdd(&out[h % 1000], 1);
}
//! text b
__global__ void k(int* out, const unsigned short* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long h = x[5 * i];
  h = h * 131 + x[5 * i + 1];
  h = h * 131 + x[5 * i + 2];
  h = h * 131 + x[5 * i + 3];
  h = h * 131 + x[5 * i + 4];
  atomicAdd(&out[h % 1000], 1);
}
