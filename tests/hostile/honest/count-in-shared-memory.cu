// Counts in shared memory first.
//! kernel count
//! devices both
__global__ void count(const int* in, int* bins, int n) {
  __shared__ int own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&own[in[i] & 255], 1);
  __syncthreads();
  if (own[threadIdx.x]) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
