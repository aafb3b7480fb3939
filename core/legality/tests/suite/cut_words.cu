//! original | block 128 | grid ceil_div(n, 128)
//! right block: doubled | block 256 | grid ceil_div(n, 256)
//! right form: by a mask | `(unsigned)words[i]` -> `(words[i] & 0xffffffff)`
//! right form: read twice | `if (key < keys)` -> `if ((unsigned)words[i] < keys)`
//! values key: the higher half | `out[key] = 1` -> `out[key] = 2`
__global__ void mark(const long long* words, int* out, long long keys, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long key = (unsigned)words[i];
  if (key < keys) out[key] = 1;
}
