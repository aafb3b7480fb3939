//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: prints nothing | `if (i == 7) printf("%d of %d\n", i, n);` -> ``
//! wrong trap: prints something else | `, i, n)` -> `, i, n + 1)`
//! wrong trap: prints another text | `"%d of %d\n"` -> `"%d in %d\n"`
//! wrong trap: another thread prints | `i == 7` -> `i == 8`
//! wrong trap: prints twice | `i, n);` -> `i, n), printf("%d of %d\n", i, n);`
//! wrong trap: more threads print | block 256 | grid ceil_div(n, 256) | `i == 7` -> `threadIdx.x == 7`
__global__ void k(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 7) printf("%d of %d\n", i, n);
  if (i < n) out[i] = 2 * x[i];
}
