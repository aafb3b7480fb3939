//! original | block 128 | grid 1
//! wrong trap: rows in parallel that overlap | text b
__global__ void k(float* out, const float* x, int w) {
  extern __shared__ float tile[];
  int t = threadIdx.x;
  if (t == 0)
    for (int i = 0; i < 128; ++i)
      for (int j = 0; j <= w; ++j) tile[i * w + j] = x[j];
  __syncthreads();
  out[t] = tile[t * w];
}
//! text b
__global__ void k(float* out, const float* x, int w) {
  extern __shared__ float tile[];
  int t = threadIdx.x;
  for (int j = 0; j <= w; ++j) tile[t * w + j] = x[j];
  __syncthreads();
  out[t] = tile[t * w];
}
