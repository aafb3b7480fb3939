//! original | block 128 | grid ceil_div(n, 128)
//! right block: another one whose last threads stray alike | block 64 | grid 2 * ceil_div(n, 128)
//! right spelling: a conditional | `if (last) out[i] = 0.0f; else out[i] = x[i + 1] - x[i];` -> `out[i] = last ? 0.0f : x[i + 1] - x[i];`
//! right block: larger, where it divides | block 1024 | grid ceil_div(n, 1024) | if n % 1024 == 0
//! right guard: added | `const bool` -> `if (i >= n) return; const bool` | if n % 128 == 0
//! wrong block: larger | block 1024 | grid ceil_div(n, 1024) | at n=1152
//! wrong block: twice | block 256 | grid ceil_div(n, 256) | at n=1152 | at n=1
//! wrong guard: the last element is none | `i == n - 1` -> `i == n` | at n=128
//! values guard: the last two | `i == n - 1` -> `i >= n - 2`
//! wrong guard: never the last | `const bool last = i == n - 1` -> `const bool last = false` | at n=128
//! wrong shift: writes beside | `out[i] = x[i + 1]` -> `out[i + 1] = x[i + 1]`
//! values sum: a term lost | `x[i + 1] - x[i]` -> `x[i + 1]`
__global__ void diff(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool last = i == n - 1;
  if (last) out[i] = 0.0f; else out[i] = x[i + 1] - x[i];
}
