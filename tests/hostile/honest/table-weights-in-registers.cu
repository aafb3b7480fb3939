// Keeps the weights in registers, and counts per warp.
//! kernel table
//! devices both
__constant__ float weights[8];
__device__ int clamped;
__global__ void table(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float w[8];
  for (int k = 0; k < 8; ++k) w[k] = weights[k];
  float sum = 0;
  if (i < n)
    for (int round = 0; round < 8; ++round)
      for (int k = 0; k < 8; ++k) sum += w[k] * in[(i + k + round) % n];
  bool over = i < n && in[i] > 0.75f;
  unsigned all = __ballot_sync(0xffffffffu, over);
  if (threadIdx.x % 32 == 0 && all) atomicAdd(&clamped, __popc(all));
  if (i < n) out[i] = over ? 24.0f : sum;
}
