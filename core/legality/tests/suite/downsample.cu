//! original | block 16, 16 | grid ceil_div(w, 16), ceil_div(h, 16)
//! right block: wide | block 64, 2 | grid ceil_div(w, 64), ceil_div(h, 2)
//! right spelling: a base pointer | text base
//! wrong guard: no rows | `if (x >= w || y >= h) return;` -> `if (x >= w) return;` | at w=16, h=17
//! wrong guard: counts inputs | `if (x >= w || y >= h) return;` -> `if (x >= 2 * w || y >= h) return;` | at w=17, h=16
//! values shift: three columns | `in[2 * y * 2 * w + 2 * x + 1]` -> `in[2 * y * 2 * w + 2 * x + 2]`
//! wrong shift: rows of the output | `out[y * w + x]` -> `out[2 * y * w + x]` | at w=16, h=16
//! values sum: a quarter lost | ` + in[2 * y * 2 * w + 2 * x + 1]` -> ``
__global__ void downsample(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  out[y * w + x] = in[2 * y * 2 * w + 2 * x] + in[2 * y * 2 * w + 2 * x + 1] +
                   in[(2 * y + 1) * 2 * w + 2 * x] + in[(2 * y + 1) * 2 * w + 2 * x + 1];
}
//! text base
__global__ void downsample(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) {
    const float* p = in + 4 * y * w + 2 * x;
    out[y * w + x] = p[0] + p[1] + p[2 * w] + p[2 * w + 1];
  }
}
