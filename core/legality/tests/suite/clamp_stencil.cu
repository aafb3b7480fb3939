//! original | block 16, 16 | grid ceil_div(w, 16), ceil_div(h, 16)
//! right block: wide | block 64, 4 | grid ceil_div(w, 64), ceil_div(h, 4)
//! right spelling: min and max | text minmax
//! right spelling: branches | text branches
//! wrong guard: the left side is not clamped | `x > 0 ? x - 1 : 0` -> `x - 1`
//! wrong guard: the right side is not clamped | `x < w - 1 ? x + 1 : w - 1` -> `x + 1`
//! wrong guard: clamped to the width | `x < w - 1 ? x + 1 : w - 1` -> `x < w ? x + 1 : w - 1`
//! wrong guard: rows not checked | `x < w && y < h` -> `x < w` | at w=16, h=17
//! wrong shift: the row below | `in[y * w + r]` -> `in[(y + 1) * w + r]`
//! values sum: a term lost | `in[y * w + l] + ` -> ``
__global__ void blur(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (!(x < w && y < h)) return;
  int l = x > 0 ? x - 1 : 0, r = x < w - 1 ? x + 1 : w - 1;
  out[y * w + x] = in[y * w + l] + in[y * w + r] + in[y * w + x];
}
//! text minmax
__global__ void blur(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  out[y * w + x] = in[y * w + max(x - 1, 0)] + in[y * w + min(x + 1, w - 1)] + in[y * w + x];
}
//! text branches
__global__ void blur(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) {
    const float* row = in + y * w;
    float c = row[x], l = c, r = c;
    if (x > 0) l = row[x - 1];
    if (x + 1 < w) r = row[x + 1];
    out[y * w + x] = l + r + c;
  }
}
