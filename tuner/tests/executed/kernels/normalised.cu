//! original | block 128 | grid ceil_div(n, 128)
__global__ void normalised(const float* x, float* out, float scale, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    for (int k = 0; k < 3; ++k) out[3 * i + k] = x[3 * i + k] / scale;
    out[3 * i] += x[i] / scale;
  }
}
