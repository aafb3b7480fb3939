//! original | block 32, 4 | grid ceil_div(w, 32), ceil_div(h, 4) | at w=132,h=10
#define PITCH 160
__global__ void blend(const float* a, const float* b, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || x >= PITCH || y >= h) return;
  int at = y * PITCH + x;
  out[at] = 0.25f * a[at] + 0.75f * b[at];
}
