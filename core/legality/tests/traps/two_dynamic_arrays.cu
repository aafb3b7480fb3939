//! original | block 128 | grid 1
//! wrong trap: no barrier between two names of one memory | text b
__global__ void k(int* out, const float* x, int n) {
  extern __shared__ float a[];
  extern __shared__ int b[];
  int t = threadIdx.x;
  a[t] = x[t];
  __syncthreads();
  float v = a[127 - t];
  __syncthreads();
  b[t] = (int)v;
  __syncthreads();
  out[t] = b[127 - t];
}
//! text b
__global__ void k(int* out, const float* x, int n) {
  extern __shared__ float a[];
  extern __shared__ int b[];
  int t = threadIdx.x;
  a[t] = x[t];
  __syncthreads();
  float v = a[127 - t];
  b[t] = (int)v;
  __syncthreads();
  out[t] = b[127 - t];
}
