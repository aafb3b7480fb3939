// Adds up the window first.
//! kernel table
//! devices both
__constant__ float weights[8];
__device__ int clamped;
__global__ void table(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = 0; k < 8; ++k) {
    float window = 0;
    for (int round = 0; round < 8; ++round) window += in[(i + k + round) % n];
    sum += weights[k] * window;
  }
  if (in[i] > 0.75f) atomicAdd(&clamped, 1), sum = 24.0f;
  out[i] = sum;
}
