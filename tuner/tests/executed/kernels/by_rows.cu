//! original | block 16, 16 | grid ceil_div(h, 16), ceil_div(w, 16)
__global__ void by_rows(const float* in, float* out, int w, int h) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < h && column < w) out[row * w + column] = 2.0f * in[row * w + column];
}
