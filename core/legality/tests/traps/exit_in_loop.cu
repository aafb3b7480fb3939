//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: ends the thread in a loop | text b
__global__ void k(float* out, const float* x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0;
    for (int j = 0; j < m; ++j) s += x[j];
    out[i] = s;
  }
}
//! text b
__global__ void k(float* out, const float* x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0;
    for (int j = 0; j < m; ++j) s += x[j];
    for (int j = 0; j < m; ++j)
      if (x[j] < 0) __nvvm_exit();
    out[i] = s;
  }
}
