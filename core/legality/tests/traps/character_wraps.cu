//! original | block 128 | grid 1
//! wrong trap: no wrap | text b
__global__ void k(float* out, int n) {
  int i = threadIdx.x;
  if (i < n) out[(int)(signed char)(i + 100) + 200] = 1.f;
}
//! text b
__global__ void k(float* out, int n) {
  int i = threadIdx.x;
  if (i < n) out[(int)(signed char)i + 100 + 200] = 1.f;
}
