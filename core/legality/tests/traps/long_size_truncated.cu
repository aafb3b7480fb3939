//! original | block 128 | grid g
//! wrong trap: n in 32 bits | text b
__global__ void k(float* out, long long n, int g) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
    out[i] = 1.f;
}
//! text b
__global__ void k(float* out, long long n, int g) {
  int m = (int)n;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < m; i += gridDim.x * blockDim.x) out[i] = 1.f;
}
