//! original | block 256 | grid ceil_div(n, 256)
//! right block: smaller | block 64 | grid ceil_div(n, 64)
//! right spelling: through a register | `x[i] = x[i] > 0.0f ? x[i] : 0.0f;` -> `float v = x[i]; if (v <= 0.0f) v = 0.0f; x[i] = v;`
//! right guard: early return | `if (i < n) {` -> `if (i >= n) return; {`
//! wrong alias: reads its neighbour, which another thread writes | `x[i] > 0.0f ?` -> `x[i + 1 < n ? i + 1 : i] > 0.0f ?` | at n=100
//! wrong alias: writes its neighbour | `x[i] = x[i]` -> `x[n - 1 - i] = x[i]` | at n=100
//! wrong guard: dropped | `if (i < n) {` -> `{` | at n=100
//! wrong race: two threads of an element | `int i = blockIdx.x * blockDim.x + threadIdx.x;` -> `int i = (blockIdx.x * blockDim.x + threadIdx.x) / 2;` | at n=100
//! values cast: its square | `? x[i] :` -> `? x[i] * x[i] :`
__global__ void relu(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    x[i] = x[i] > 0.0f ? x[i] : 0.0f;
  }
}
