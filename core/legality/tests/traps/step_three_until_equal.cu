//! original | block 1 | grid 1
//! wrong trap: writes every third element of another array, which no count says | text b
__global__ void k(float* out, float* other, int n) {
  out[0] = 1.f;
  other[0] = 1.f;
}
//! text b
__global__ void k(float* out, float* other, int n) {
  out[0] = 1.f;
  other[0] = 1.f;
  if (n > 3)
    for (unsigned j = 0; j != n; j += 3) other[j] = 1.f;
}
