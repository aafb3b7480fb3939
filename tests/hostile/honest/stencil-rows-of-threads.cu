// Blocks of 256 by 1.
//! kernel stencil
//! devices both
__global__ void stencil(const float* in, float* out, int n) {
  int block = blockIdx.y * gridDim.x + blockIdx.x, t = threadIdx.y * blockDim.x + threadIdx.x;
  for (int i = block * 256 + t; i < n * n; i += gridDim.x * gridDim.y * 256) {
    int x = i % n, y = i / n;
    float left = x > 0 ? in[i - 1] : 0, right = x + 1 < n ? in[i + 1] : 0;
    float up = y > 0 ? in[i - n] : 0, down = y + 1 < n ? in[i + n] : 0;
    out[i] = 0.5f * in[i] + 0.125f * (left + right + up + down);
  }
}
