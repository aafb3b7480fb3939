//! original | block 64 | grid rows | at rows=5,n=100
__global__ void staged_row(const float* x, float* out, int rows, int n) {
  __shared__ float row[64];
  float carry = 0.0f;
  for (int t = 0; t < n; t += 64) {
    int j = t + threadIdx.x;
    row[threadIdx.x] = j < n ? x[blockIdx.x * n + j] : 0.0f;
    __syncthreads();
    float s = carry;
    for (int k = 0; k <= threadIdx.x; ++k) s += row[k];
    if (j < n) out[blockIdx.x * n + j] = s;
    for (int k = 0; k < 64; ++k) carry += row[k];
    __syncthreads();
  }
}
