// A filter whose weights are a __constant__ table, and which counts in a __device__ variable what it clamps.
//! key table(float const*, float*, int)
//! mangled _Z5tablePKfPfi
//! buffer in float n random const
//! buffer out float n -1
//! value n int n
//! variable weights float 8 random constant
//! variable clamped int 1 0
//! launch a 512 256 131072
//! launch b 98 256 25001 held-out
//! covers n
__constant__ float weights[8];
__device__ int clamped;
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
