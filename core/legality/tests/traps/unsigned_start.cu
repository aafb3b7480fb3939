//! original | block 1 | grid 1
//! wrong trap: unsigned lo - 5 is huge, no iteration | text b
__global__ void k(float* out, unsigned lo, int n) {
  for (int i = (int)lo - 5; i < n; ++i)
    if (i >= 0) out[i - ((int)lo - 5)] = 1.f;
}
//! text b
__global__ void k(float* out, unsigned lo, int n) {
  int k = 0;
  for (unsigned i = lo - 5; i < (unsigned)n; ++i) out[k++] = 1.f;
}
