//! original | block 32, 8 | grid w / 32, h / 8 | at w=64,h=64
__global__ void slope(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  out[y * w + x] = in[(y + 2) * w + x] - 2 * in[(y + 1) * w + x] + in[y * w + x];
}
