//! original | block 16, 8 | grid ceil_div(w, 16), ceil_div(h, 8)
//! right jam: four rows | text rows | grid ceil_div(w, 16), ceil_div(h, 32)
//! right jam: four rows, the grid stays | text rows
//! wrong jam: three rows | text rows | grid ceil_div(w, 16), ceil_div(h, 32) | at w=20, h=40 | `u < 4; ++u) {` -> `u < 3; ++u) {`
//! wrong jam: the last row reads too far | text rows | grid ceil_div(w, 16), ceil_div(h, 32) | at w=20, h=38 | `sum[u] = in[at]` -> `sum[u] = in[u == 3 ? at + 2 * w : at]`
//! wrong jam: the rest is not in bounds | text rows | grid ceil_div(w, 16), ceil_div(h, 32) | at w=20, h=40 | `row + u < h - 1` -> `row + u < h`
//! wrong race: every second row twice | text rows | grid ceil_div(w, 16), ceil_div(h, 32) | at w=20, h=70 | `* 4 + 1` -> `* 2 + 1`
//! values jam: a term lost in one row | text rows | grid ceil_div(w, 16), ceil_div(h, 32) | `+ in[at + 1]` -> `+ (u == 2 ? 0 : in[at + 1])`
__global__ void cross(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (x >= 1 && x < w - 1 && y < h - 1) {
    int at = y * w + x;
    out[at] = in[at] + in[at - 1] + in[at + 1] + in[at - w] + in[at + w];
  }
}
//! text rows
__global__ void cross(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int row = (blockIdx.y * blockDim.y + threadIdx.y) * 4 + 1;
  if (x < 1 || x >= w - 1) return;
  if (row + 3 < h - 1) {
    float sum[4];
    for (int u = 0; u < 4; ++u) {
      int at = (row + u) * w + x;
      sum[u] = in[at] + in[at - 1] + in[at + 1] + in[at - w] + in[at + w];
    }
    for (int u = 0; u < 4; ++u) out[(row + u) * w + x] = sum[u];
  } else {
    for (int u = 0; row + u < h - 1; ++u) {
      int at = (row + u) * w + x;
      out[at] = in[at] + in[at - 1] + in[at + 1] + in[at - w] + in[at + w];
    }
  }
}
