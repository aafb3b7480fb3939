//! original | block 32, 8 | grid ceil_div(ny, 32), ceil_div(nx, 8) | at nx=41,ny=44,t=3
__global__ void step1(int nx, int ny, float* fict, float* ey, float* hz, int t) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;

  if ((i < nx) && (j < ny)) {
    if (i == 0) ey[i * ny + j] = fict[t];
    else ey[i * ny + j] = ey[i * ny + j] - 0.5f * (hz[i * ny + j] - hz[(i - 1) * ny + j]);
  }
}
