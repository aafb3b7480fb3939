//! original | block 128 | grid (n + 127) / 128
//! right block: larger | block 512 | grid (n + 511) / 512
//! right spelling: size_t | `unsigned i = blockIdx.x * blockDim.x + threadIdx.x;` -> `size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;`
//! right spelling: signed | `unsigned i` -> `int i`
//! wrong guard: the one before, too | `i < n` -> `i - 1 < n` | at n=100
//! wrong guard: dropped | `if (i < n) ` -> `` | at n=100
//! wrong shift: another half | `out[i]` -> `out[i / 2]` | at n=100
//! wrong tail: half of the blocks | grid (n + 255) / 256 | at n=300
//! values cast: halved | `x[i] * 2u` -> `x[i]`
__global__ void twice(const unsigned* x, unsigned* out, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] * 2u;
}
