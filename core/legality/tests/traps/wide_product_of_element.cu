//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: compared without the factor | `x[i] * 6 < 6 * most` -> `x[i] < most` | at n=100, limit=9
//! wrong trap: compared with a shift | `x[i] * 6 < 6 * most` -> `x[i] << 3 < 8 * most` | at n=100, limit=9
__global__ void mark(const unsigned long long* x, int* out, unsigned limit, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long most = limit;
  if (i < n && x[i] * 6 < 6 * most) out[i] = 1;
}
