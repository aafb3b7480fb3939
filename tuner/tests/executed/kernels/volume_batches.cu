//! original | block 32, 4 | grid ceil_div(w, 32), ceil_div(h, 4), batches | at w=64,h=8,batches=2
__global__ void volume_batches(const float* x, const float* bias, float* out, int w, int h, int batches) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  const int r = blockIdx.y * blockDim.y + threadIdx.y;
  const int b = blockIdx.z;
  if (c < w && r < h) {
    const int at = (b * h + r) * w + c;
    out[at] = x[at] + bias[b];
  }
}
