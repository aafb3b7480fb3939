//! original | block 128 | grid ceil_div(cols, 128), rows
//! right block: halved | block 64 | grid ceil_div(cols, 64), rows
//! right form: the row's start first | `out[row * pitch + col] = x[row * cols + col]` -> `(out + row * pitch)[col] = (x + row * cols)[col]`
//! wrong guard: one more | `col < cols` -> `col <= cols` | at rows=3, cols=100, pitch=128
__global__ void copy(float* out, const float* x, size_t cols, size_t pitch, int rows) {
  size_t col = blockIdx.x * (size_t)blockDim.x + threadIdx.x, row = blockIdx.y;
  if (col < cols) out[row * pitch + col] = x[row * cols + col];
}
