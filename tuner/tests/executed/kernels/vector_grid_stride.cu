//! original | block 128 | grid 3 | at n=1030
using real = float;
__global__ void scale(const real* x, real* out, real by, int n) {
  const int first = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = first; i < n; i += gridDim.x * blockDim.x) {
    const real value = x[i];
    out[i] = by * value;
  }
}
