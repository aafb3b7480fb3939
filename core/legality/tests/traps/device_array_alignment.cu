//! original | block 32 | grid 1
//! wrong trap: vectors from a module variable | text b
//! wrong trap: pairs of 8 bytes from ints | text c
__device__ int first[1];
__device__ int table[128];
__global__ void k(int* out) {
  int t = threadIdx.x;
  for (int j = 0; j < 4; ++j) out[4 * t + j] = table[4 * t + j] + first[0];
}
//! text b
__device__ int first[1];
__device__ int table[128];
__global__ void k(int* out) {
  int t = threadIdx.x;
  int4 v = *(int4*)(table + 4 * t);
  out[4 * t] = v.x + first[0];
  out[4 * t + 1] = v.y + first[0];
  out[4 * t + 2] = v.z + first[0];
  out[4 * t + 3] = v.w + first[0];
}
//! text c
__device__ int first[1];
__device__ int table[128];
__global__ void k(int* out) {
  int t = threadIdx.x;
  int2 v = *(int2*)(table + 4 * t), w = *(int2*)(table + 4 * t + 2);
  out[4 * t] = v.x + first[0];
  out[4 * t + 1] = v.y + first[0];
  out[4 * t + 2] = w.x + first[0];
  out[4 * t + 3] = w.y + first[0];
}
