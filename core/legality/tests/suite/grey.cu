//! original | block 32, 8 | grid ceil_div(w, 32), ceil_div(h, 8)
//! right block: square | block 16, 16 | grid ceil_div(w, 16), ceil_div(h, 16)
//! right spelling: a pointer to the pixel | text pointer
//! wrong guard: columns not checked | `x >= w || ` -> `` | at w=33, h=8
//! wrong guard: rows not checked | ` || y >= h` -> `` | at w=32, h=9
//! wrong shift: four parts of a pixel | `rgb[3 * (y * w + x) + 2]` -> `rgb[3 * (y * w + x) + 3]` | at w=32, h=8
//! wrong shift: the pitch in parts | `grey[y * w + x]` -> `grey[3 * y * w + x]` | at w=32, h=8
//! wrong tail: rows rounded down | grid ceil_div(w, 32), h / 8 | at w=32, h=9
//! values sum: blue lost | ` + 29 * rgb[3 * (y * w + x) + 2]` -> ``
__global__ void to_grey(const unsigned char* rgb, unsigned char* grey, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  grey[y * w + x] = (77 * rgb[3 * (y * w + x)] + 150 * rgb[3 * (y * w + x) + 1] + 29 * rgb[3 * (y * w + x) + 2]) >> 8;
}
//! text pointer
__global__ void to_grey(const unsigned char* rgb, unsigned char* grey, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) {
    int at = y * w + x;
    const unsigned char* p = rgb + at * 3;
    grey[at] = (77 * p[0] + 150 * p[1] + 29 * p[2]) >> 8;
  }
}
