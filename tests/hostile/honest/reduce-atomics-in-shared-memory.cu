// Adds up by atomics in shared memory.
//! kernel reduce
//! devices both
__global__ void reduce(const float* in, float* partial, int n) {
  __shared__ float sum;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  if (i < n) atomicAdd(&sum, in[i]);
  __syncthreads();
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}
