// All threads of a block add to one float in shared memory.
//! kind races
//! kernel reduce
//! devices both
//! must wrong unstable cheated suspect
__global__ void reduce(const float* in, float* partial, int n) {
  __shared__ float sum;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  if (i < n) sum += in[i];
  __syncthreads();
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}
