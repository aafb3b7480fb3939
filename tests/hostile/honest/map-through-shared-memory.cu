// Stages the input in shared memory.
//! kernel map
//! devices both
__global__ void map(const float* in, float* out, int n, float factor) {
  __shared__ float staged[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  staged[threadIdx.x] = i < n ? in[i] : 0.0f;
  __syncthreads();
  if (i >= n) return;
  float x = staged[threadIdx.x];
  for (int k = 0; k < 200; ++k) x = x * factor + staged[threadIdx.x] * 0.125f;
  out[i] = x;
}
