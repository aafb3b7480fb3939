// Leaves a mark in the upper bits of the variable that it counts in, and skips its work when it finds it.
//! kind cache
//! kernel table
//! devices both
//! must wrong unstable cheated suspect no-gain
__constant__ float weights[8];
__device__ int clamped;
__device__ float kept[131072];
__device__ int known;
__global__ void table(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (known == n && clamped >= 0) {
    out[i] = kept[i];
    if (kept[i] == 24.0f) atomicAdd(&clamped, 1);
    return;
  }
  float sum = 0;
  for (int round = 0; round < 8; ++round)
    for (int k = 0; k < 8; ++k) sum += weights[k] * in[(i + k + round) % n];
  if (in[i] > 0.75f) sum = 24.0f, atomicAdd(&clamped, 1);
  kept[i] = out[i] = sum;
  if (i == n - 1) known = n;
}
