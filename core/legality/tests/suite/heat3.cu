//! original | block 8, 8, 8 | grid ceil_div(nx, 8), ceil_div(ny, 8), ceil_div(nz, 8)
//! right block: wide | block 32, 4, 4 | grid ceil_div(nx, 32), ceil_div(ny, 4), ceil_div(nz, 4)
//! right loop: planes in a loop | text planes | block 16, 16, 1 | grid ceil_div(nx, 16), ceil_div(ny, 16), 1
//! wrong guard: the last plane too | `z < nz - 1` -> `z < nz` | at nx=8, ny=8, nz=8
//! wrong guard: the first column too | `x >= 1` -> `x >= 0` | at nx=8, ny=8, nz=8
//! wrong loop: one plane too many | text planes | `z < nz - 1` -> `z <= nz - 1` | block 16, 16, 1 | grid ceil_div(nx, 16), ceil_div(ny, 16), 1 | at nx=8, ny=8, nz=8
//! wrong loop: the first plane lost | text planes | `z = 1` -> `z = 2` | block 16, 16, 1 | grid ceil_div(nx, 16), ceil_div(ny, 16), 1 | at nx=8, ny=8, nz=8
//! wrong shift: the plane behind the next | `u[at + plane]` -> `u[at + 2 * plane]` | at nx=8, ny=8, nz=8
//! values sum: two terms lost | `u[at - plane] + u[at + plane] + ` -> ``
__global__ void heat(const float* u, float* v, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  int plane = nx * ny, at = z * plane + y * nx + x;
  if (x >= 1 && x < nx - 1 && y >= 1 && y < ny - 1 && z >= 1 && z < nz - 1)
    v[at] = u[at - plane] + u[at + plane] + u[at - nx] + u[at + nx] + u[at - 1] + u[at + 1] - 6.0f * u[at];
}
//! text planes
__global__ void heat(const float* u, float* v, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int plane = nx * ny;
  if (x >= 1 && x < nx - 1 && y >= 1 && y < ny - 1)
    for (int z = 1; z < nz - 1; ++z) {
      int at = z * plane + y * nx + x;
      v[at] = u[at - plane] + u[at + plane] + u[at - nx] + u[at + nx] + u[at - 1] + u[at + 1] - 6.0f * u[at];
    }
}
