//! original | block 128 | grid ceil_div(w * h, 128)
//! right block: larger | block 512 | grid ceil_div(w * h, 512)
//! right block: smaller | block 64 | grid ceil_div(w * h, 64)
//! right spelling: no row and column | `out[y * w + x] = in[y * w + x]` -> `out[i] = in[i]`
//! wrong guard: dropped | `if (i < w * h) ` -> `` | at w=10, h=10
//! wrong guard: one too many | `i < w * h` -> `i <= w * h` | at w=10, h=10
//! wrong guard: one row only | `i < w * h` -> `i < w` | at w=10, h=10
//! wrong tail: the grid covers a row | grid ceil_div(w, 128) | at w=10, h=100
//! wrong shift: reads the next row | `in[y * w + x]` -> `in[(y + 1) * w + x]` | at w=10, h=10
//! values cast: not squared | `* in[y * w + x]` -> ``
__global__ void square(const float* in, float* out, int w, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int y = i / w, x = i % w;
  if (i < w * h) out[y * w + x] = in[y * w + x] * in[y * w + x];
}
