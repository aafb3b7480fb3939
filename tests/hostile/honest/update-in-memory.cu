// Works on y itself.
//! kernel update
//! devices both
__global__ void update(const float* x, float* y, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int k = 0; k < 200; ++k) y[i] = y[i] * factor + x[i];
}
