//! original | block 1 | grid g
//! wrong trap: whole rows | text b
__global__ void k(float* out, int n, int m, int g) {
  for (int i = blockIdx.x; i < n; i += gridDim.x)
    for (int j = blockIdx.x; j < m; j += gridDim.x) out[i * m + j] = 1;
}
//! text b
__global__ void k(float* out, int n, int m, int g) {
  for (int i = blockIdx.x; i < n; i += gridDim.x)
    for (int j = 0; j < m; ++j) out[i * m + j] = 1;
}
