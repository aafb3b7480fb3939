// Evicts caches at its end, so that the original, which is timed next, starts cold.
//! kind stopwatch
//! kernel map
//! devices both
//! must wrong unstable cheated suspect no-gain
__device__ int junk[8 << 20];
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
  for (int k = i; k < (8 << 20); k += 1048576 / 16) junk[k] += 1;
}
