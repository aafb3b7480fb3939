//! original | block 128 | grid ceil_div(n, 128)
//! right block: larger | block 256 | grid ceil_div(n, 256)
//! right block: smaller | block 32 | grid ceil_div(n, 32)
//! right spelling: a variable | `if (x[i] < 0.0f) found[0] = 1;` -> `float v = x[i]; if (v < 0.0f) found[0] = 1;`
//! wrong shift: another flag | `found[0]` -> `found[1]`
//! wrong guard: dropped | `i < n && true` -> `true` | at n=100
//! wrong batch: a flag of each block | `found[0]` -> `found[blockIdx.x]` | at n=1000
//! values cast: another condition's value | `= 1` -> `= 2`
__global__ void any_negative(const float* x, int* found, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && true) { if (x[i] < 0.0f) found[0] = 1; }
}
