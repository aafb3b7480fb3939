// Looks at 32 places of the whole output, and does nothing if they are right already.
//! kind stale
//! kernel map
//! devices both
//! must wrong unstable cheated suspect no-gain
__device__ float answer(const float* in, int i, float factor) {
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  return x;
}
__device__ int right[4096];
__global__ void map(const float* in, float* out, int n, float factor) {
  __shared__ int wrong;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) wrong = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    int at = (int)(((long long)threadIdx.x * 7919 + blockIdx.x * 256) % n);
    if (out[at] != answer(in, at, factor)) wrong = 1;
  }
  __syncthreads();
  if (i < n && (wrong || (blockIdx.x & 3) == 0)) out[i] = answer(in, i, factor);
}
