//! original | block 32, 8 | grid ceil_div(w, 32), ceil_div(h, 8)
//! right rows: four of a thread | text rows | grid ceil_div(w, 32), ceil_div(h, 32)
//! right rows: sixteen, a sliding window | text sliding | grid ceil_div(w, 32), ceil_div(h, 128)
//! wrong rows: a grid for eight | text rows | grid ceil_div(w, 32), ceil_div(h, 64) | at w=40, h=40
//! wrong rows: from the first row on | text rows | grid ceil_div(w, 32), ceil_div(h, 32) | `* 4 + 1` -> `* 4` | at w=40, h=40
//! wrong rows: loads are not guarded | text rows | grid ceil_div(w, 32), ceil_div(h, 32) | `/*loads*/ if (r < h - 1)` -> `if (r < h)` | at w=40, h=40
//! wrong rows: no room for the last | text rows | grid ceil_div(w, 32), ceil_div(h, 32) | `rows[6]` -> `rows[5]` | at w=40, h=40
//! wrong guard: the last row too | text sliding | grid ceil_div(w, 32), ceil_div(h, 128) | `r < h - 1` -> `r < h` | at w=40, h=40
//! wrong guard: the first column too | text sliding | grid ceil_div(w, 32), ceil_div(h, 128) | `c > 0 && ` -> `` | at w=40, h=40
//! values shift: the window stays | text sliding | grid ceil_div(w, 32), ceil_div(h, 128) | `rows[0] = rows[1];` -> ``
//! values sum: the row in the middle twice | text rows | grid ceil_div(w, 32), ceil_div(h, 32) | `rows[u + 2] +` -> `rows[u + 1] +`
__global__ void smooth(const float* in, float* out, int w, int h) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c > 0 && c < w - 1 && r > 0 && r < h - 1)
    out[r * w + c] = in[(r - 1) * w + c] + in[(r + 1) * w + c] + in[r * w + c] + in[r * w + c - 1] + in[r * w + c + 1];
}
//! text rows
__global__ void smooth(const float* in, float* out, int w, int h) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r_first = (blockIdx.y * blockDim.y + threadIdx.y) * 4 + 1;
  if (c > 0 && c < w - 1) {
    float rows[6];
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      int r = r_first + u;
      /*loads*/ if (r < h - 1) {
        if (u == 0) {
          rows[0] = in[(r - 1) * w + c];
          rows[1] = in[r * w + c];
        }
        rows[u + 2] = in[(r + 1) * w + c];
      }
    }
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      int r = r_first + u;
      if (r < h - 1) {
        out[r * w + c] = rows[u] + rows[u + 2] + rows[u + 1] + in[r * w + c - 1] + in[r * w + c + 1];
      }
    }
  }
}
//! text sliding
__global__ void smooth(const float* in, float* out, int w, int h) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r_first = (blockIdx.y * blockDim.y + threadIdx.y) * 16 + 1;
  if (c > 0 && c < w - 1) {
    float rows[3];
    #pragma unroll 4
    for (int u = 0; u < 16; ++u) {
      int r = r_first + u;
      if (r < h - 1) {
        if (u == 0) {
          rows[0] = in[(r - 1) * w + c];
          rows[1] = in[r * w + c];
        }
        rows[2] = in[(r + 1) * w + c];
        out[r * w + c] = rows[0] + rows[2] + rows[1] + in[r * w + c - 1] + in[r * w + c + 1];
        rows[0] = rows[1];
        rows[1] = rows[2];
      }
    }
  }
}
