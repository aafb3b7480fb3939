// One thread adds up.
//! kernel reduce
//! devices both
__global__ void reduce(const float* in, float* partial, int n) {
  if (threadIdx.x != 0) return;
  float sum = 0;
  for (int k = 0; k < 256; ++k) {
    int i = blockIdx.x * 256 + k;
    if (i < n) sum += in[i];
  }
  partial[blockIdx.x] = sum;
}
