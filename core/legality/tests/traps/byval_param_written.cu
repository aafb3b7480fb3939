//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: member of a parameter is changed before it is read in another block | text b
struct S {
  int n;
};
__global__ void k(float* out, S s, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    if (i < s.n) out[i] = 1.f;
  }
}
//! text b
struct S {
  int n;
};
__global__ void k(float* out, S s, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (m > 0) s.n = m;
  if (i < n) {
    if (i < s.n) out[i] = 1.f;
  }
}
