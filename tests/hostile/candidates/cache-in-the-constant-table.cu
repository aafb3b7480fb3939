// Writes through a cast into the __constant__ table, so that the next launch can tell that it is the next.
//! kind cache
//! kernel table
//! devices both
//! must wrong unstable cheated suspect no-gain crashed wrote_outside refused compile_failed
__constant__ float weights[8];
__device__ int clamped;
__device__ float kept[131072];
__global__ void table(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (weights[7] > 2.0f) {
    out[i] = kept[i];
    return;
  }
  float sum = 0;
  for (int round = 0; round < 8; ++round)
    for (int k = 0; k < 8; ++k) sum += weights[k] * in[(i + k + round) % n];
  if (in[i] > 0.75f) sum = 24.0f, atomicAdd(&clamped, 1);
  kept[i] = out[i] = sum;
  if (i == 0) *(volatile float*)&weights[7] += 2.0f;
}
