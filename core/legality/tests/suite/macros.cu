//! original | block 16, 16 | grid ceil_div(cols, 16), ceil_div(rows, 16)
//! right block: flat | block 128, 1 | grid ceil_div(cols, 128), rows
//! right block: tall | block 8, 32 | grid ceil_div(cols, 8), ceil_div(rows, 32)
//! right spelling: without the macro | `OUT(r, c) = IN(r, c)` -> `out[r * cols + c] = IN(r, c)`
//! wrong guard: the macro checks one side | `((r) < rows && (c) < cols)` -> `((r) < rows)` | at rows=16, cols=17
//! wrong guard: the macro checks the other side | `((r) < rows && (c) < cols)` -> `((c) < cols)` | at rows=17, cols=16
//! wrong shift: the macro's pitch is rows | `in[(r) * cols + (c)]` -> `in[(r) * rows + (c)]` | at rows=3, cols=17
//! wrong shift: the macro lacks a row | `out[(r) * cols + (c)]` -> `out[((r) + 1) * cols + (c)]`
//! wrong block: rows not covered | block 16, 8 | at rows=16, cols=16
//! values cast: negative | `= IN` -> `= -IN`
#define RESTRICT __restrict__
#define IN(r, c) in[(r) * cols + (c)]
#define OUT(r, c) out[(r) * cols + (c)]
#define INSIDE(r, c) ((r) < rows && (c) < cols)
__global__ void copy2(const float* RESTRICT in, float* RESTRICT out, int rows, int cols) {
  int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
  if (INSIDE(r, c)) OUT(r, c) = IN(r, c);
}
