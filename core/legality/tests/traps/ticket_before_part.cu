//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: the part is written after the ticket is drawn | text b
__global__ void k(const float* x, float* part, unsigned* count, float* out, int n) {
  if (threadIdx.x == 0) {
    part[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    if (atomicAdd(count, 1u) == gridDim.x - 1) {
      float t = 0;
      for (int k = 0; k < gridDim.x; ++k) t += part[k];
      out[0] = t;
    }
  }
}
//! text b
__global__ void k(const float* x, float* part, unsigned* count, float* out, int n) {
  if (threadIdx.x == 0) {
    bool last = atomicAdd(count, 1u) == gridDim.x - 1;
    part[blockIdx.x] = x[blockIdx.x];
    if (last) {
      float t = 0;
      for (int k = 0; k < gridDim.x; ++k) t += part[k];
      out[0] = t;
    }
  }
}
