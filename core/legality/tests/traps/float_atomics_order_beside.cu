//! original | block 128 | grid 1
//! wrong trap: a fixed order of sums becomes any order, beside sums without one | text b
__global__ void k(float* out, const float* x) {
  int t = threadIdx.x;
  atomicAdd(&out[200], 1.f);
  atomicAdd(&out[t], x[t]);
  __syncthreads();
  atomicAdd(&out[127 - t], x[t]);
}
//! text b
__global__ void k(float* out, const float* x) {
  int t = threadIdx.x;
  atomicAdd(&out[200], 1.f);
  atomicAdd(&out[t], x[t]);
  atomicAdd(&out[127 - t], x[t]);
}
