//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: no fence | text b
__global__ void k(const float* x, float* part, unsigned* count, float* out, int n) {
  __shared__ float tile[128];
  __shared__ bool last;
  int i = blockIdx.x * 128 + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0.f;
  __syncthreads();
  if (threadIdx.x == 0) {
    float s = 0;
    for (int k = 0; k < 128; ++k) s += tile[k];
    part[blockIdx.x] = s;
    __threadfence();
    last = atomicAdd(count, 1u) == gridDim.x - 1;
    if (last) {
      float t = 0;
      for (int k = 0; k < gridDim.x; ++k) t += part[k];
      out[0] = t;
    }
  }
}
//! text b
__global__ void k(const float* x, float* part, unsigned* count, float* out, int n) {
  __shared__ float tile[128];
  __shared__ bool last;
  int i = blockIdx.x * 128 + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0.f;
  __syncthreads();
  if (threadIdx.x == 0) {
    float s = 0;
    for (int k = 0; k < 128; ++k) s += tile[k];
    part[blockIdx.x] = s;
    last = atomicAdd(count, 1u) == gridDim.x - 1;
    if (last) {
      float t = 0;
      for (int k = 0; k < gridDim.x; ++k) t += part[k];
      out[0] = t;
    }
  }
}
