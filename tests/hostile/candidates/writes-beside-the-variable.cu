// Writes behind the module variable, into the table beside it.
//! kind writes
//! kernel table
//! devices both
//! must wrote_outside
__constant__ float weights[8];
__device__ int clamped;
__global__ void table(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int round = 0; round < 8; ++round)
    for (int k = 0; k < 8; ++k) sum += weights[k] * in[(i + k + round) % n];
  if (in[i] > 0.75f) sum = 24.0f, atomicAdd(&clamped, 1);
  out[i] = sum;
  if (i == 0) *((volatile int*)&clamped + 4096) = 7;
}
