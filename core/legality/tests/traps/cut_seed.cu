//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: all of the seed | `(unsigned)seed` -> `seed` | at n=100, seed=4294967298 | at n=100, seed=8589934593
//! wrong trap: nothing for some | `if (i >= n)` -> `if (i >= n || seed >= 1ull << 33)` | at n=100, seed=8589934592
__global__ void drop(const float* x, float* out, unsigned long long seed, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const auto s = (unsigned)seed;
  if ((s + i) % 3 == 0) out[i] = x[i];
}
