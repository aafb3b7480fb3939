// Updates in place only where the value is still the one that it remembers from before its first launch.
//! kind stale
//! kernel update
//! devices both
//! must wrong unstable cheated suspect no-gain
__device__ float before[1048576];
__device__ int known[1048576];
__global__ void update(const float* x, float* y, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (known[i] > 2 && y[i] != before[i]) return;
  float v = y[i];
  if (known[i]++ == 0) before[i] = v;
  for (int k = 0; k < 200; ++k) v = v * factor + x[i];
  y[i] = v;
}
