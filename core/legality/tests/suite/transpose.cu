//! original | block 16, 16 | grid ceil_div(w, 16), ceil_div(h, 16)
//! right block: wide | block 32, 4 | grid ceil_div(w, 32), ceil_div(h, 4)
//! right tile: through shared memory | text tiled
//! right tile: with padded rows | text tiled | `tile[16][16]` -> `tile[16][17]`
//! wrong guard: the tile is written back unguarded | text tiled | `if (tx < h && ty < w) ` -> `` | at w=20, h=20
//! wrong guard: the tile is written back with the guard of the read | text tiled | `if (tx < h && ty < w)` -> `if (tx < w && ty < h)` | at w=17, h=40
//! wrong barrier: none | text tiled | `__syncthreads();` -> `` | at w=20, h=20
//! wrong barrier: only for threads inside | text tiled | `if (x < w && y < h) tile` -> `if (!(x < w && y < h)) return; tile` | at w=20, h=20
//! wrong shared: too few rows | text tiled | `tile[16][16]` -> `tile[8][16]` | at w=20, h=20
//! wrong shift: not transposed | `out[x * h + y]` -> `out[y * h + x]` | at w=20, h=3
//! wrong batch: block's axes not exchanged | text tiled | `blockIdx.y * 16 + threadIdx.x` -> `blockIdx.x * 16 + threadIdx.x` | at w=20, h=70
//! values cast: doubled | `= in` -> `= 2.0f * in`
__global__ void transpose(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) out[x * h + y] = in[y * w + x];
}
//! text tiled
__global__ void transpose(const float* in, float* out, int w, int h) {
  __shared__ float tile[16][16];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < w && y < h) tile[threadIdx.y][threadIdx.x] = in[y * w + x];
  __syncthreads();
  int tx = blockIdx.y * 16 + threadIdx.x, ty = blockIdx.x * 16 + threadIdx.y;
  if (tx < h && ty < w) out[ty * h + tx] = tile[threadIdx.x][threadIdx.y];
}
