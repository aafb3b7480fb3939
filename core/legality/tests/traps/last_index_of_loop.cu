//! original | block 1 | grid 1
//! wrong trap: the last of m for the last of n | text b
__global__ void k(float* out, const int* idx, int n, int m) {
  int k = 0, last, s = 0;
  do {
    last = idx[k];
    s += last;
    ++k;
  } while (k < n);
  out[last] = s;
}
//! text b
__global__ void k(float* out, const int* idx, int n, int m) {
  int k = 0, last, s = 0;
  do {
    last = idx[k];
    s += last;
    ++k;
  } while (k < min(m, n));
  s = 0;
  k = 0;
  do {
    s += idx[k];
    ++k;
  } while (k < n);
  out[last] = s;
}
