//! original | block 32, 8 | grid w / 32, h / 8 | at w=64,h=64
__global__ void slope(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  float edge = 0.0f;
  if (x + 1 < w) edge = in[y * w + x + 1];
  out[y * w + x] = edge - in[y * w + x];
}
