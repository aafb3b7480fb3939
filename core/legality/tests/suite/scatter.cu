//! original | block 128 | grid ceil_div(n, 128) | permuted to
//! right block: larger | block 256 | grid ceil_div(n, 256)
//! right block: smaller | block 32 | grid ceil_div(n, 32)
//! right spelling: the value first | `if (keep[i] > 0) out[to[i]] = x[i];` -> `float v = x[i]; int at = to[i]; if (keep[i] > 0) out[at] = v;`
//! wrong guard: dropped | `if (i < n)` -> `` | at n=100
//! wrong guard: the condition dropped | `if (keep[i] > 0) ` -> ``
//! wrong shift: writes beside | `out[to[i]]` -> `out[to[i] + 1]`
//! wrong batch: another element's place | `out[to[i]]` -> `out[to[i + 1]]` | at n=100
//! wrong block: half of the blocks | grid ceil_div(n, 256) | at n=200
//! values cast: doubled | `= x[i]` -> `= x[i] + x[i]`
__global__ void scatter(const float* x, const int* to, const int* keep, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { if (keep[i] > 0) out[to[i]] = x[i]; }
}
