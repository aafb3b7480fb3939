//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: no factor | `first * 6 < 6 * most` -> `first < most` | at n=100, limit=9, first=3074457345618258603
__global__ void mark(int* out, unsigned long long first, unsigned limit, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long most = limit;
  if (i < n && first * 6 < 6 * most) out[i] = 1;
}
