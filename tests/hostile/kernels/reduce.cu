// The sums of blocks, through shared memory.
//! key reduce(float const*, float*, int)
//! mangled _Z6reducePKfPfi
//! buffer in float n random const
//! buffer partial float blocks -1
//! value n int n
//! launch a 2048 256 524288
//! launch b 500 256 127777 held-out
//! covers n
__global__ void reduce(const float* in, float* partial, int n) {
  __shared__ float sums[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  sums[t] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) sums[t] += sums[t + half];
    __syncthreads();
  }
  if (t == 0) partial[blockIdx.x] = sums[0];
}
