// A block reads what the block before it has just written.
//! kind races
//! kernel reduce
//! devices both
//! must wrong unstable cheated suspect crashed timed_out
__device__ volatile float running[4096];
__global__ void reduce(const float* in, float* partial, int n) {
  if (threadIdx.x != 0) return;
  float sum = blockIdx.x ? running[blockIdx.x - 1] : 0, before = sum;
  for (int k = 0; k < 256; ++k) {
    int i = blockIdx.x * 256 + k;
    if (i < n) sum += in[i];
  }
  running[blockIdx.x] = sum;
  partial[blockIdx.x] = sum - before;
}
