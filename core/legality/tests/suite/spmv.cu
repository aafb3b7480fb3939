//! original | block 128 | grid ceil_div(rows, 128)
//! right block: larger | block 512 | grid ceil_div(rows, 512)
//! right block: smaller | block 32 | grid ceil_div(rows, 32)
//! right spelling: the row's end in a variable | `for (int j = begin[r]; j < begin[r + 1]; ++j)` -> `const int end = begin[r + 1]; for (int j = begin[r]; j < end; ++j)`
//! wrong guard: dropped | `if (r >= rows) return;` -> `` | at rows=100
//! wrong loop: to the end of the next row | `j < begin[r + 1]` -> `j < begin[r + 2]` | at rows=100
//! wrong loop: one element too many | `j < begin[r + 1]` -> `j <= begin[r + 1]`
//! wrong shift: another column's value | `x[column[j]]` -> `x[column[j] + 1]`
//! wrong tail: half of the rows | grid ceil_div(rows, 256) | at rows=200
//! values sum: without the values | `value[j] * ` -> ``
__global__ void spmv(const int* begin, const int* column, const double* value, const double* x, double* y, int rows) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  double s = 0;
  for (int j = begin[r]; j < begin[r + 1]; ++j) s += value[j] * x[column[j]];
  y[r] = s;
}
