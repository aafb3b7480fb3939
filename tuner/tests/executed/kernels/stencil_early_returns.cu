//! original | block 32, 8 | grid ceil_div(w, 32), ceil_div(h, 8) | at w=40,h=41,r=2
__global__ void blur(const float* in, float* out, unsigned w, unsigned h, unsigned r) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w) return;
  if (y == 0 || y >= h - 1) return;
  unsigned at = y * w + x;
  float sum = 0.0f;
  for (unsigned k = 0; k < r; ++k) sum += k;
  sum += in[at - w] + 2 * in[at] + in[at + w];
  if (sum > 1.0f) out[at] = sum;
  else out[at] = in[at - w];
}
