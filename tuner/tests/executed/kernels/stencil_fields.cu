//! original | block 32, 8 | grid ceil_div(ny, 32), ceil_div(nx, 8) | at nx=41,ny=44
__global__ void step3(int nx, int ny, float* ex, float* ey, float* hz) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;

  if ((i < (nx - 1)) && (j < (ny - 1)))
    hz[i * ny + j] = hz[i * ny + j] - 0.7f * (ex[i * ny + (j + 1)] - ex[i * ny + j] + ey[(i + 1) * ny + j] - ey[i * ny + j]);
}
