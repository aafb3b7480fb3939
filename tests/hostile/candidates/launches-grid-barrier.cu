// Waits at a barrier of the whole grid, though it is not launched cooperatively.
//! kind launches
//! kernel map
//! devices both
//! must crashed timed_out launch_failed no-gain refused compile_failed
__device__ unsigned arrived;
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned mine = atomicAdd(&arrived, 1);
    unsigned target = (mine / gridDim.x + 1) * gridDim.x;
    while (*(volatile unsigned*)&arrived < target) {}
  }
  __syncthreads();
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
