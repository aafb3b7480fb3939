// A block does nothing where its first output is right already.
//! kind stale
//! kernel map
//! devices both
//! must wrong unstable cheated suspect no-gain
__device__ float answer(const float* in, int i, float factor) {
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  return x;
}
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int first = blockIdx.x * blockDim.x;
  if (out[first] == answer(in, first, factor)) return;
  __syncthreads();
  out[i] = answer(in, i, factor);
}
