//! original | block 64 | grid ceil_div(n, 64) | at n=300
__global__ void split(const double* x, double* whole, double* rest, const double* scale, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  whole[i] = x[i] * scale[0];
  rest[i] = whole[i] - x[i] + i;
}
