//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: no assertion | `assert(x[i] == x[i]);` -> ``
//! wrong trap: one assertion of two | `assert(n < 1000);` -> ``
//! wrong trap: no trap | `if (n > 4000) __trap();` -> ``
#include <cassert>
__global__ void k(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (n > 4000) __trap();
  assert(n < 1000);
  if (i < n) {
    assert(x[i] == x[i]);
    out[i] = 2 * x[i];
  }
}
