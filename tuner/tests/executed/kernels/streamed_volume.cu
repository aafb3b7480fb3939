//! original | block 16, 8 | grid ceil_div(nx, 16), ceil_div(ny, 8) | at nx=35,ny=21,nz=12
__global__ void heat(const float* u, float* v, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int plane = nx * ny;
  if (x >= 1 && x < nx - 1 && y >= 1 && y < ny - 1) {
    for (int z = 1; z < nz - 1; ++z) {
      int at = z * plane + y * nx + x;
      v[at] = u[at - plane] + u[at + plane] + u[at - nx] + u[at + nx] + u[at - 1] + u[at + 1] - 6.0f * u[at];
    }
  }
}
