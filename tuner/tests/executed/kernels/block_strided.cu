//! original | block 64 | grid 1 | at n=300
__global__ void block_strided(const float* x, float* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = 2.0f * x[i];
}
