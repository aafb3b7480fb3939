//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: a jump into a cycle | text b
__global__ void k(float* out, float* other, int n, int c, int p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (c > 0) out[i] = 1.f;
  if (c <= 0) {
    other[i] = 2.f;
    if (p > 5) out[i] = 1.f;
  }
}
//! text b
__global__ void k(float* out, float* other, int n, int c, int p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (c > 0) goto A;
  else goto B;
A:
  out[i] = 1.f;
  if (p > 5) return;
  goto B;
B:
  other[i] = 2.f;
  if (p <= 5) return;
  goto A;
}
