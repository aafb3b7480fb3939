//! original | block 32, 4 | grid ceil_div(nx, 32), ceil_div(ny, 4) | at nx=35,ny=21,nz=7
__global__ void heat(const float* u, float* v, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int plane = nx * ny;
  if (x < 1 || x >= nx - 1) return;
  if (y > 0 && y < ny - 1) {
    for (int z = 1; z < nz - 1; ++z) {
      int at = z * plane + y * nx + x;
      v[at] = u[at - plane] + u[at + plane] + u[at - nx] + u[at + nx] + u[at - 1] + u[at + 1] - 6.0f * u[at];
    }
  }
}
