//! original | block 128 | grid ceil_div(n, 128)
//! right spelling: one variable less | `int t = threadIdx.x; ` -> `` | `= t` -> `= threadIdx.x`
//! right loop: the bound first | `if (i < n)` -> `if (n > i)`
//! values block: another place in another block | block 256 | grid ceil_div(n, 256)
//! values block: a smaller block | block 32 | grid ceil_div(n, 32)
//! wrong guard: dropped | `if (i < n) ` -> `` | at n=100
//! wrong shift: the next element | `out[i]` -> `out[i + 1]`
__global__ void place(int* out, int n) {
  int t = threadIdx.x; int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = t;
}
