// By the reciprocal square root, in single precision.
//! kernel forces
//! devices both
__global__ void forces(const float* x, const float* m, float* f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0, xi = x[i];
  for (int j = 0; j < n; ++j) {
    double d = x[j] - xi, s = d * d + 0.01;
    sum += (float)(m[j] * d / (s * sqrt(s)));
  }
  f[i] = sum;
}
