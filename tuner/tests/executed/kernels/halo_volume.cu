//! original | block 16, 4, 4 | grid ceil_div(nx, 16), ceil_div(ny, 4), ceil_div(nz, 4) | at nx=35,ny=21,nz=10
__global__ void heat(const float* u, float* v, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
  int at = (z * ny + y) * nx + x;
  v[at] = u[at - nx * ny] + u[at + nx * ny] + u[at - nx] + u[at + nx] + u[at - 1] + u[at + 1] - 6.0f * u[at];
}
