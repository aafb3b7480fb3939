//! original | block 16, 16 | grid ceil_div(w, 16), ceil_div(h, 16)
//! right block: wide | block 64, 4 | grid ceil_div(w, 64), ceil_div(h, 4)
//! right block: flat | block 256, 1 | grid ceil_div(w, 256), h
//! right spelling: two returns | `if (!(x < w && y < h)) return;` -> `if (x >= w) return; if (y >= h) return;`
//! right spelling: an or | `if (!(x < w && y < h)) return;` -> `if (x >= w || y >= h) return;`
//! right loop: rows in a loop | text rows | block 16, 4 | grid ceil_div(w, 16), ceil_div(h, 16)
//! wrong guard: columns not checked | `x < w && y < h` -> `y < h` | at w=17, h=16
//! wrong guard: rows not checked | `x < w && y < h` -> `x < w` | at w=16, h=17
//! wrong guard: or in place of and | `x < w && y < h` -> `x < w || y < h` | at w=17, h=17
//! wrong guard: sides exchanged | `x < w && y < h` -> `x < h && y < w` | at w=17, h=33
//! wrong block: rows cut off | block 16, 8 | at w=16, h=16
//! wrong block: grid's sides exchanged | grid ceil_div(h, 16), ceil_div(w, 16) | at w=16, h=32
//! right loop: column by column | `y * w + x` -> `x * h + y`
//! wrong shift: reads column by column in rows of the height | `in[y * w + x]` -> `in[x * h + x]` | at w=40, h=17
//! values cast: not inverted | `255 - ` -> ``
__global__ void invert(const int* in, int* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (!(x < w && y < h)) return;
  out[y * w + x] = 255 - in[y * w + x];
}
//! text rows
__global__ void invert(const int* in, int* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int first = blockIdx.y * 16 + threadIdx.y;
  if (x < w)
    for (int k = 0; k < 4; ++k)
      if (first + 4 * k < h) out[(first + 4 * k) * w + x] = 255 - in[(first + 4 * k) * w + x];
}
