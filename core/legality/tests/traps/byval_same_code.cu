//! original | block 128 | grid ceil_div(n, 128)
//! values trap: the new value for the old one | text b
struct S {
  int v;
};
__global__ void k(int* out, int* other, S s, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int t = s.v;
  s.v = m;
  if (m > 3) other[i] = 1;
  out[i] = t;
}
//! text b
struct S {
  int v;
};
__global__ void k(int* out, int* other, S s, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  s.v = m;
  if (m > 3) other[i] = 1;
  out[i] = s.v;
}
