// Gives a device variable of the kernel another initial value, which nvcc's host code sees and nothing judges.
//! kind host-code
//! kernel table
//! devices both
//! must refused
__constant__ float weights[8];
__device__ int clamped = 7;
__global__ void table(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int round = 0; round < 8; ++round)
    for (int k = 0; k < 8; ++k) sum += weights[k] * in[(i + k + round) % n];
  if (in[i] > 0.75f) {
    sum = 24.0f;
    atomicAdd(&clamped, 1);
  }
  out[i] = sum;
}
