//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: a promise that two parameters differ | text b
__device__ void step(float* a, const float* b) {
  float u = *b;
  *a = u + 1;
  *a += *b;
}
__global__ void k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) step(out + i, out + i);
}
//! text b
__device__ void step(float* __restrict__ a, const float* __restrict__ b) {
  float u = *b;
  *a = u + 1;
  *a += *b;
}
__global__ void k(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) step(out + i, out + i);
}
