//! original | block 16, 16 | grid ceil_div(w - 2, 16), ceil_div(h - 2, 16)
//! right tile: with a halo in shared memory | text tiled
//! right block: wide | block 32, 8 | grid ceil_div(w - 2, 32), ceil_div(h - 2, 8)
//! wrong shared: no room for the halo | text tiled | `s[18][18]` -> `s[17][18]` | at w=20, h=20
//! wrong barrier: none | text tiled | `__syncthreads();` -> ``
//! wrong guard: the halo reads beyond | text tiled | `x < w && y < h && !corner` -> `x < w && !corner` | at w=18, h=20
//! wrong guard: the last row too | text tiled | `r + 1 < h` -> `r < h` | at w=20, h=20
//! wrong guard: the last column too | `c < w - 1` -> `c < w` | at w=20, h=20
//! wrong shift: not from the second row on | `r = blockIdx.y * blockDim.y + threadIdx.y + 1` -> `r = blockIdx.y * blockDim.y + threadIdx.y` | at w=20, h=20
//! values sum: a term lost | ` + in[(r + 1) * w + c]` -> ``
__global__ void smooth(const float* in, float* out, int w, int h) {
  int c = blockIdx.x * blockDim.x + threadIdx.x + 1, r = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (c < w - 1 && r < h - 1)
    out[r * w + c] = in[(r - 1) * w + c] + in[(r + 1) * w + c] + in[r * w + c - 1] + in[r * w + c + 1] +
                     in[r * w + c];
}
//! text tiled
__global__ void smooth(const float* in, float* out, int w, int h) {
  __shared__ float s[18][18];
  int c = blockIdx.x * 16 + threadIdx.x + 1, r = blockIdx.y * 16 + threadIdx.y + 1;
  for (int i = threadIdx.y; i < 18; i += 16)
    for (int j = threadIdx.x; j < 18; j += 16) {
      int x = blockIdx.x * 16 + j, y = blockIdx.y * 16 + i;
      bool corner = (x == 0 || x == w - 1) && (y == 0 || y == h - 1);
      if (x < w && y < h && !corner) s[i][j] = in[y * w + x];
    }
  __syncthreads();
  int i = threadIdx.y + 1, j = threadIdx.x + 1;
  if (c + 1 < w && r + 1 < h) out[r * w + c] = s[i - 1][j] + s[i + 1][j] + s[i][j - 1] + s[i][j + 1] + s[i][j];
}
