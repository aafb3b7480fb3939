//! original | block 32, 8 | grid ceil_div(w, 32), ceil_div(h, 8) | at w=67,h=37
#define RADIUS 2
__global__ void convolve(const float* image, const float* weights, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) {
    float sum = 0.0f;
    for (int p = -RADIUS; p <= RADIUS; p++)
      for (int q = -RADIUS; q <= RADIUS; q++) {
        int row = y + p, column = x + q;
        if (row >= 0 && row < h && column >= 0 && column < w)
          sum += image[row * w + column] * weights[(p + RADIUS) * (2 * RADIUS + 1) + q + RADIUS];
      }
    out[y * w + x] = sum;
  }
}
