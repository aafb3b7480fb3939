//! original | block 32, 4 | grid ceil_div(w, 32), ceil_div(h, 4) | at w=40,h=35
__global__ void gradients(const double* in, double* across, double* down, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w - 1 || y >= h - 1 || x < 1 || y < 1) return;
  const int at = y * w + x;
  // The two directions.
  across[at] = 0.5 * (in[at + 1] - in[at - 1]);
  double above = in[at - w];
  down[at] = 0.5 * (in[at + w] - above);
}
