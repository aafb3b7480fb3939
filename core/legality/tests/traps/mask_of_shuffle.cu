//! original | block 128 | grid 1
//! wrong trap: lanes that the mask does not name | text b
__global__ void k(int* out, const int* x) {
  int t = threadIdx.x;
  int v = x[t];
  if (t < 16) v = __shfl_xor_sync(0x0000ffffu, v, 1);
  out[t] = v;
}
//! text b
__global__ void k(int* out, const int* x) {
  int t = threadIdx.x;
  int v = x[t];
  if (t < 16) v = __shfl_xor_sync(0xffff0000u, v, 1);
  out[t] = v;
}
