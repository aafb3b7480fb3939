// Uses dynamic shared memory that it did not ask for.
//! kind shared-memory
//! kernel map
//! devices both
//! must crashed timed_out wrote_outside wrong unstable cheated suspect launch_failed over_resources
extern __shared__ float large[];
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  large[threadIdx.x * 4096] = 1;
  __syncthreads();
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = large[threadIdx.x * 4096] == 1 ? x : 0;
}
