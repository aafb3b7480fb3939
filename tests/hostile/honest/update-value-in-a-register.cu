// Reads x once.
//! kernel update
//! devices both
__global__ void update(const float* x, float* y, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = y[i], a = x[i];
    for (int k = 0; k < 200; ++k) v = v * factor + a;
    y[i] = v;
  }
}
