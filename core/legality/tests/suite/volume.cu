//! original | block 8, 8, 4 | grid ceil_div(nx, 8), ceil_div(ny, 8), ceil_div(nz, 4)
//! right block: flat | block 32, 4, 2 | grid ceil_div(nx, 32), ceil_div(ny, 4), ceil_div(nz, 2)
//! right block: small | block 4, 4, 4 | grid ceil_div(nx, 4), ceil_div(ny, 4), ceil_div(nz, 4)
//! right spelling: nested | `if (x >= nx || y >= ny || z >= nz) return;` -> `if (x >= nx) return; if (!(y < ny)) return; if (nz <= z) return;`
//! wrong guard: no depth | ` || z >= nz` -> `` | at nx=8, ny=8, nz=5
//! wrong guard: no width | `x >= nx || ` -> `` | at nx=9, ny=8, nz=4
//! wrong guard: and in place of or | `x >= nx || y >= ny` -> `x >= nx && y >= ny` | at nx=9, ny=9, nz=4
//! wrong guard: one too many | `z >= nz` -> `z > nz` | at nx=8, ny=8, nz=5
//! wrong block: half of the depth | block 8, 8, 2 | at nx=8, ny=8, nz=4
//! wrong shift: the next plane | `in[(z * ny + y) * nx + x]` -> `in[((z + 1) * ny + y) * nx + x]`
//! values cast: scaled | `= in` -> `= 2.0f * in`
__global__ void copy3(const float* in, float* out, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  out[(z * ny + y) * nx + x] = in[(z * ny + y) * nx + x];
}
