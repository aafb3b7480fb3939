//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: a number of 64 bits in memory, cut to 32 | `long long t = stamp[i]` -> `int t = (int)stamp[i]`
//! wrong trap: the same without its sign | `long long t = stamp[i]` -> `long long t = (unsigned)stamp[i]`
//! wrong trap: the same by a mask | `t = stamp[i]` -> `t = stamp[i] & 0xffffffff`
//! wrong trap: 40 bits of it | `t = stamp[i]` -> `t = stamp[i] & 0xffffffffff`
//! wrong trap: 40 bits with their sign | `t = stamp[i]` -> `t = stamp[i] << 24 >> 24`
//! wrong trap: a sum with it | `t < limit` -> `(int)(t + limit) < (int)(2 * limit)`
__global__ void mark(const long long* stamp, int* out, long long limit, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long t = stamp[i];
  if (t < limit) out[i] = 1;
}
