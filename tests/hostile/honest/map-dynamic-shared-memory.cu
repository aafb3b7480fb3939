// Stages the input in dynamic shared memory.
//! kernel map
//! devices both
//! launch map; gx, gy, gz; bx, by, bz; 4 * bx
extern __shared__ float staged[];
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  staged[threadIdx.x] = i < n ? in[i] : 0.0f;
  __syncthreads();
  if (i >= n) return;
  float x = staged[threadIdx.x];
  for (int k = 0; k < 200; ++k) x = x * factor + staged[threadIdx.x] * 0.125f;
  out[i] = x;
}
