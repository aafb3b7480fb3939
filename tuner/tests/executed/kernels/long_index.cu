//! original | block 128 | grid ceil_div(n, 128)
__global__ void long_index(const double* __restrict__ x, double* __restrict__ y, long long n, double a) {
  const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < (size_t)n) y[i] += a * x[i];
}
