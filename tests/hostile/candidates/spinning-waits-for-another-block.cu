// Block 0 waits for a word that only the last block writes.
//! kind spinning
//! kernel map
//! devices both
//! must crashed timed_out no-gain
__device__ volatile int arrived;
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) arrived = 1;
  if (blockIdx.x == 0) while (!arrived) {}
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
