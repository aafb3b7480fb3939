//! original | block 128 | grid ceil_div(n, 128)
__global__ void periodic(const float* u, float* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  v[i] = u[(i + 1) % n] + u[(i + n - 1) % n] - 2.0f * u[i];
}
