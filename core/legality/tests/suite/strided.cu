//! original | block 128 | grid ceil_div(n, 128)
//! right block: larger | block 256 | grid ceil_div(n, 256)
//! right spelling: pointers | `y[i * incy] = a * x[i * incx];` -> `*(y + i * incy) = a * *(x + i * incx);`
//! wrong guard: dropped | `if (i < n) ` -> `` | at n=100, incx=1, incy=1
//! wrong shift: the other one's stride | `y[i * incy]` -> `y[i * incx]` | at n=100, incx=1, incy=2
//! wrong shift: one stride further | `x[i * incx]` -> `x[(i + 1) * incx]` | at n=100, incx=1, incy=1
//! wrong tail: the grid rounds down | grid n / 128 | at n=200, incx=1, incy=1
//! values cast: without a | `a * x` -> `x`
__global__ void scal(const float* x, float* y, float a, int n, int incx, int incy) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i * incy] = a * x[i * incx];
}
