//! original | block 128 | grid 1
//! wrong trap: off[1] | text b
__global__ void k(float* out, const int* off, const int* other, int* flag, int w, int n) {
  int i = threadIdx.x;
  float v = off[1];
  if (other[0] > 3) flag[i] = 1;
  if (i < off[0] * w) v = out[i + 1000];
  if (i < n) out[i] = v;
}
//! text b
__global__ void k(float* out, const int* off, const int* other, int* flag, int w, int n) {
  int i = threadIdx.x;
  float v = off[1];
  if (off[0] > 3 && i < off[1] * w) v = out[i + 1000];
  if (other[0] > 3) flag[i] = 1;
  if (i < n) out[i] = v;
}
