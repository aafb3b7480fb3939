// Reads what other warps wrote without the first barrier.
//! kind races
//! kernel reduce
//! devices both
//! must wrong unstable cheated suspect
__global__ void reduce(const float* in, float* partial, int n) {
  __shared__ float sums[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  sums[t] = i < n ? in[i] : 0.0f;
  if (t == 0) {
    float sum = 0;
    for (int k = 0; k < 256; ++k) sum += sums[k];
    partial[blockIdx.x] = sum;
  }
}
