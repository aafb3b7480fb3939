// Half of the block waits at a barrier that the other half never reaches.
//! kind spinning
//! kernel reduce
//! devices both
//! must crashed timed_out wrong unstable cheated suspect refused compile_failed
__global__ void reduce(const float* in, float* partial, int n) {
  __shared__ float sums[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  sums[t] = i < n ? in[i] : 0.0f;
  if (t < 128) __syncthreads();
  else while (*(volatile float*)&sums[0] != -1e30f) {}
  if (t == 0) partial[blockIdx.x] = sums[0];
}
