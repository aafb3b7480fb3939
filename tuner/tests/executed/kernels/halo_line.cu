//! original | block 128 | grid ceil_div(n, 128) | at n=300
typedef double real;
__global__ void line(const real* x, real* y, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (!(i >= 2 && i + 2 < n)) return;
  y[i] = x[i - 2] - 8 * x[i - 1] + 8 * x[i + 1] - x[i + 2];
}
