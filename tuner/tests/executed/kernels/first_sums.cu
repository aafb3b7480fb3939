//! original | block 64 | grid ceil_div(n, 64) | at n=150
__global__ void first_sums(const float* x, float* out, int n) {
  __shared__ float part[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  if (threadIdx.x == 0) {
    float s = 0;
    for (int w = 0; w < 64; ++w) s += part[w];
    out[blockIdx.x] = s;
  }
}
