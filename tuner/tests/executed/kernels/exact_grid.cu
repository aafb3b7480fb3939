//! original | block 64 | grid n / 64
__global__ void exact_grid(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = x[i] + 1.0f;
}
