//! original | block 128 | grid 1
//! wrong trap: read-only loads of memory that the kernel writes | text b
__global__ void k(float* out, float* a) {
  int t = threadIdx.x;
  float u = a[127 - t];
  __syncthreads();
  a[t] = 2.f * t;
  __syncthreads();
  out[t] = u + a[127 - t];
}
//! text b
__global__ void k(float* out, float* a) {
  int t = threadIdx.x;
  float u = __ldg(&a[127 - t]);
  __syncthreads();
  a[t] = 2.f * t;
  __syncthreads();
  out[t] = u + __ldg(&a[127 - t]);
}
