// All threads of a block add to one float in global memory, with neither barrier nor atomic.
//! kind races
//! kernel reduce
//! devices both
//! must wrong unstable cheated suspect
__global__ void reduce(const float* in, float* partial, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) partial[blockIdx.x] = 0;
  __syncthreads();
  if (i < n) partial[blockIdx.x] += in[i];
}
