//! original | block 64 | grid ceil_div(w, 64) | at w=70,h=20,first=2
__global__ void smooth_columns(const float* in, float* out, int w, int h, int first) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x < 1 || x >= w - 1 || first < 1) return;
  float largest = -1000.0f;
  for (int y = first; y < h - 1; y++) {
    float up = in[(y - 1) * w + x - 1] + in[(y - 1) * w + x], here = in[y * w + x - 1] + in[y * w + x];
    float down = in[(y + 1) * w + x - 1] + in[(y + 1) * w + x];
    if (up > 2.0f) break;
    largest = fmaxf(largest, down);
    out[y * w + x] = up + 2 * here + down;
  }
  out[x] = largest;
}
