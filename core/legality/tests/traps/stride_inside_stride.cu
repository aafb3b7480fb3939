//! original | block 128 | grid g
//! wrong trap: reads and writes rows crosswise | text b
__global__ void k(float* out, int n, int m, int g) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    for (int j = 0; j < m; ++j) out[i * m + j] = 1;
}
//! text b
__global__ void k(float* out, int n, int m, int g) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    for (int j = blockIdx.x; j < m; j += gridDim.x) out[i * m + j] = 1;
}
